package passive

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	second = int64(1e9)
	// endedConnTTL is how long the table remembers an ended connection after its last packet, so
	// that late packets are not attributed to another connection.
	endedConnTTL = 60 * second
	// requestTTL is how long the table remembers a connection request without an answer.
	requestTTL = 120 * second
	// idleConnTTL is how long the table remembers a connection that is not decoded or on which no
	// data was sent.
	idleConnTTL = 3600 * second
	// crowdedConns is the number of connections above which the table is crowded. A crowded table
	// applies the limit crowdedConnTTL instead of idleConnTTL and requestTTL.
	crowdedConns   = 1 << 20
	crowdedConnTTL = 10 * second
	sweepInterval  = 10 * second
	// maxRequests limits the number of connection requests that no client has confirmed. If a flood
	// of requests exceeds this limit, the table forgets the oldest requests.
	maxRequests = 1 << 16
	// holeTimeout is how long the table waits for missing bytes. A retransmission would arrive
	// sooner.
	holeTimeout = 10 * second
	// twinTimeout is the maximum time between two copies of a packet that have different addresses.
	twinTimeout = 3 * second
	// Limits on the number of bytes that follow holes and wait to be decoded.
	maxHeldPerStream = 4 << 20
	maxHeldTotal     = 64 << 20
)

// Reasons for gaps.
const (
	reasonAlreadyOpen   = "the connection was open before the capture began, so it is not recorded until its client connects again"
	reasonStartMissing  = "the beginning of the connection was not captured, so the connection is not recorded"
	reasonTLS           = "the connection uses TLS, which a capture cannot decode; record it with a relay instead (--listen, --to, --cert, --key and --cacert)"
	reasonPacketMissing = "a packet of the connection was not captured, so the rest of the connection is not recorded"
	reasonHoleTooLarge  = "a packet of the connection was not captured and too much data followed it, so the rest of the connection is not recorded"
	reasonEndMissing    = "the end of the connection was not captured: another connection now uses the same client address"
)

// table assigns packets to connections and decodes them. It is not safe for concurrent use.
type table struct {
	tap             TapConfig
	isMemberAddress func(netip.AddrPort) bool // reports whether an address is the member's
	port            uint16
	conns           map[connAddresses]*conn
	connsByISN      map[uint32]*conn // recent connections, by the client's initial sequence number
	otherAddresses  map[netip.Addr]bool
	lastPacketTime  int64 // time at which the last packet arrived
	lastSweep       int64
	held            int    // number of bytes that wait after holes
	number          uint32 // number of connections so far
	alreadyOpen     uint32 // number of these connections that were open before the capture
	dropped         bool   // set if packets were lost, so that the beginning of a connection may be missing
	crowdedAt       int
	// requests is a ring of the latest connection requests. oldestRequest is the index of the
	// oldest request.
	requests      []connRequest
	oldestRequest int
}

// connRequest is a connection request and its addresses.
type connRequest struct {
	ends connAddresses
	conn *conn
}

func newTable(cfg *TapConfig, port uint16, isMemberHost func(netip.Addr) bool) *table {
	return &table{
		tap: *cfg, port: port, crowdedAt: crowdedConns, conns: map[connAddresses]*conn{}, connsByISN: map[uint32]*conn{}, otherAddresses: map[netip.Addr]bool{},
		isMemberAddress: func(a netip.AddrPort) bool { return a.Port() == port && isMemberHost(a.Addr()) },
	}
}

// packet handles a packet that starts with the network header. length is the full length of the
// packet, and at is its time.
func (t *table) packet(b []byte, length int, at int64) {
	var s segment
	if !parse(b, length, &s) {
		return
	}
	// The processors' clocks differ slightly, but the times in a recording must not decrease.
	t.lastPacketTime = max(t.lastPacketTime, at)
	t.segment(&s)
	if passed := t.lastPacketTime - t.lastSweep; passed >= sweepInterval || passed >= second && len(t.conns) > 2*t.crowdedAt {
		t.sweep()
	}
}

func (t *table) segment(s *segment) {
	if s.flags&(flagSYN|flagACK) == flagSYN {
		if t.isMemberAddress(s.to) {
			t.handleSYN(s)
		} else {
			t.countOther(s)
		}
		return
	}
	side, c := t.findConn(s)
	if c == nil {
		return
	}
	c.lastPacketTime = t.lastPacketTime
	c.confirmed = c.confirmed || side == clientSide && s.flags&flagRST == 0
	switch {
	case c.state == closed:
	case c.state == unrecorded:
		if s.flags&(flagFIN|flagRST) != 0 {
			c.state = closed
		}
	case s.flags&flagRST != 0:
		t.reset(c, side, s)
	default:
		t.handleSegment(c, side, s)
	}
}

// findConn returns the connection of a segment and the side of its sender. If a segment with data
// belongs to no known connection, it starts a connection whose beginning was not captured.
func (t *table) findConn(s *segment) (side int, c *conn) {
	sent, answered := connAddresses{s.from, s.to}, connAddresses{s.to, s.from}
	if c = t.conns[sent]; c != nil {
		return clientSide, c
	}
	if c = t.conns[answered]; c != nil {
		return serverSide, c
	}
	if len(s.payload) == 0 {
		return 0, nil
	}
	switch {
	case t.isMemberAddress(s.to):
		t.conns[sent] = t.newUnrecordedConn()
	case t.isMemberAddress(s.from):
		t.conns[answered] = t.newUnrecordedConn()
	default:
		t.countOther(s)
	}
	return 0, nil
}

// countOther records that the port is used at an address that is not the member's.
func (t *table) countOther(s *segment) {
	at := s.to
	if at.Port() != t.port {
		at = s.from
	}
	if len(t.otherAddresses) < 3 {
		t.otherAddresses[at.Addr()] = true
	}
}

func (t *table) newUnrecordedConn() *conn {
	t.number++
	why := reasonStartMissing
	if !t.dropped {
		t.alreadyOpen++
		why = reasonAlreadyOpen
	}
	t.tap.Sink.Gap(call.Gap{At: t.lastPacketTime, Conn: t.number, Reason: why})
	return &conn{number: t.number, state: unrecorded, lastPacketTime: t.lastPacketTime}
}

// handleSYN handles a SYN, with which a client requests a connection.
func (t *table) handleSYN(s *segment) {
	key := connAddresses{s.from, s.to}
	if before := t.conns[key]; before != nil {
		if before.state != closed && before.clientISN == s.seq {
			return // a retransmission
		}
		t.end(before, reasonEndMissing)
	}
	c := &conn{clientISN: s.seq, synTime: t.lastPacketTime, lastPacketTime: t.lastPacketTime}
	if twin := t.connsByISN[s.seq]; twin != nil && t.lastPacketTime-twin.synTime <= twinTimeout && len(s.payload) == 0 {
		c.twin = twin // address translation does not change a packet's sequence number
	} else {
		t.connsByISN[s.seq] = c
		t.count(c)
	}
	c.streams[clientSide].begin(s.seq + 1)
	t.conns[key] = c
	t.addRequest(connRequest{key, c})
	t.bytes(c, clientSide, s.seq+1, s.payload) // the SYN may contain data (TCP Fast Open)
}

// addRequest adds a connection request to the ring. If the ring is full, the request replaces the
// oldest request. If no client has confirmed the oldest request and its connection has sent no
// data, addRequest also forgets that connection. A flood of requests therefore affects no other
// connection.
func (t *table) addRequest(a connRequest) {
	if len(t.requests) < maxRequests {
		t.requests = append(t.requests, a)
		return
	}
	old := t.requests[t.oldestRequest]
	t.requests[t.oldestRequest] = a
	t.oldestRequest = (t.oldestRequest + 1) % maxRequests
	if c := old.conn; !c.confirmed && c.tap == nil && c.streams[clientSide].bytes+c.streams[serverSide].bytes == 0 && t.conns[old.ends] == c {
		delete(t.conns, old.ends)
		if t.connsByISN[c.clientISN] == c {
			delete(t.connsByISN, c.clientISN)
		}
	}
}

func (t *table) count(c *conn) {
	t.number++
	c.number = t.number
}

// isCopy reports whether a connection is a copy of its twin. It is called after the member has
// answered both connection requests.
func (t *table) isCopy(c *conn) bool {
	twin := c.twin
	c.twin = nil
	if twin.serverISN == c.serverISN && twin.clientISN == c.clientISN {
		return true
	}
	t.count(c)
	return false
}

// reset handles a RST, which ends the connection unless the segment is old.
func (t *table) reset(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	behind := own.offset(s.seq)
	switch {
	case !own.started:
		t.end(c, "")
	case behind < -1, behind == -1 && !own.finished: // an old segment; a FIN also occupies a sequence number
	case behind > 0, s.flags&flagACK != 0 && other.started && other.offset(s.ack) > 0:
		t.stopDecoding(c, reasonPacketMissing) // the connection may continue: the receiver may ignore the RST (RFC 5961, section 3)
	default:
		t.end(c, "")
	}
}

// handleSegment handles a segment of a connection that is decoded, unless the segment is a RST or
// the client's SYN.
func (t *table) handleSegment(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++
		// A server that has lost its state answers with a new initial sequence number, which
		// replaces the previous one.
		if side == serverSide && (!own.started || own.next == c.serverISN+1 && !own.finSeen && len(own.outOfOrder) == 0) {
			c.serverISN = s.seq
			own.begin(seq)
		}
	}
	if c.twin != nil && len(s.payload) > 0 && t.isCopy(c) {
		c.state = unrecorded
		return
	}
	switch {
	case s.flags&flagACK != 0 && (!other.started || other.offset(s.ack) > 0):
		t.stopDecoding(c, reasonPacketMissing) // the segment acknowledges bytes that were not captured
		return
	case !own.started:
		t.stopDecoding(c, reasonPacketMissing)
		return
	case len(own.outOfOrder) > 0 && t.lastPacketTime-own.holeSince > holeTimeout:
		t.stopDecoding(c, reasonPacketMissing)
		return
	}
	t.bytes(c, side, seq, s.payload)
	switch {
	case c.state != open:
		return
	case s.truncated:
		t.stopDecoding(c, reasonPacketMissing)
		return
	case s.flags&flagFIN != 0:
		own.finish(seq + uint32(len(s.payload)))
	}
	if own.finished && other.finished {
		t.end(c, "")
	}
}

// bytes handles the payload of a segment.
func (t *table) bytes(c *conn, side int, seq uint32, b []byte) {
	if len(b) == 0 {
		return
	}
	s := &c.streams[side]
	first := side == clientSide && s.next == c.clientISN+1
	why := ""
	t.held -= s.bytes
	s.add(seq, b, t.lastPacketTime, func(b []byte) {
		switch {
		case why != "":
		case first && isTLS(b):
			why = reasonTLS
		case !t.feed(c, side, b):
			why = reasonPacketMissing // ignored if the tap has already reported a reason
		}
		first = false
	})
	if t.held += s.bytes; s.bytes > maxHeldPerStream || t.held > maxHeldTotal && s.bytes > 0 {
		why = reasonHoleTooLarge
	}
	if why != "" {
		t.stopDecoding(c, why)
	}
}

func (t *table) feed(c *conn, side int, b []byte) bool {
	if c.tap == nil {
		c.tap = t.tap.Begin(c.number)
	}
	return c.tap.Feed(side == clientSide, t.lastPacketTime, b)
}

// isTLS reports whether a client's first bytes are a TLS record (RFC 8446, section 5.1).
func isTLS(b []byte) bool { return len(b) >= 2 && b[0] == 22 && b[1] == 3 }

// stopDecoding stops decoding a connection that is still open. The reported gap begins at the first
// hole.
func (t *table) stopDecoding(c *conn, why string) {
	if c.twin != nil && t.isCopy(c) {
		t.endConn(c, unrecorded)
		return
	}
	if c.tap == nil {
		c.tap = t.tap.Begin(c.number)
	}
	since := t.lastPacketTime
	for i := range c.streams {
		if s := &c.streams[i]; len(s.outOfOrder) > 0 {
			since = min(since, s.holeSince)
		}
	}
	c.tap.ReportGap(since, why)
	t.endConn(c, unrecorded)
}

// end ends a connection. If why is not empty, end reports a gap with this reason even if no bytes
// are missing.
func (t *table) end(c *conn, why string) {
	switch {
	case c.state != open:
	case !c.streams[clientSide].complete() || !c.streams[serverSide].complete():
		t.stopDecoding(c, reasonPacketMissing)
	case c.tap != nil && why != "":
		t.stopDecoding(c, why)
	}
	t.endConn(c, closed)
}

func (t *table) endConn(c *conn, to state) {
	if c.tap != nil {
		c.tap.End(t.lastPacketTime, "")
	}
	t.held -= c.streams[clientSide].bytes + c.streams[serverSide].bytes
	c.tap, c.twin, c.streams = nil, nil, [2]stream{}
	c.state, c.lastPacketTime = to, t.lastPacketTime
}

// sweep forgets connections that ended, or that became idle, long enough ago.
func (t *table) sweep() {
	t.lastSweep = t.lastPacketTime
	long := idleConnTTL
	if len(t.conns) > t.crowdedAt {
		long = crowdedConnTTL
	}
	for key, c := range t.conns {
		age, limit := t.lastPacketTime-c.lastPacketTime, long
		switch {
		case c.state == closed:
			limit = endedConnTTL
		case c.state == unrecorded:
		case c.tap != nil:
			continue // the connection is open
		case !c.streams[serverSide].started:
			limit = min(requestTTL, long)
		}
		if age > limit {
			delete(t.conns, key)
		}
	}
	for number, c := range t.connsByISN {
		if t.lastPacketTime-c.synTime > twinTimeout {
			delete(t.connsByISN, number)
		}
	}
}

// finish ends all connections, in the order in which they began.
func (t *table) finish(at int64) {
	t.lastPacketTime = max(t.lastPacketTime, at)
	var left []*conn
	for _, c := range t.conns {
		if c.state == open {
			left = append(left, c)
		}
	}
	slices.SortFunc(left, func(a, b *conn) int { return int(int64(a.number) - int64(b.number)) })
	for _, c := range left {
		t.end(c, "")
	}
}

// drop reports the number of lost packets as a gap that begins at the time of the last packet that
// arrived.
func (t *table) drop(n uint64) {
	t.dropped = true
	t.tap.Sink.Gap(call.Gap{At: t.lastPacketTime, Reason: fmt.Sprintf("%s could not be read in time, so later requests, replies and whole connections may be missing", text.Plural(n, "packet"))})
}
