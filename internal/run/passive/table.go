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
	// kept is how long the table remembers an ended connection after its last packet, so that late
	// packets are not attributed to another connection.
	kept = 60 * second
	// unanswered is how long the table remembers a connection request without an answer.
	unanswered = 120 * second
	// idle is how long the table remembers a connection that is not decoded or on which no data was
	// sent.
	idle = 3600 * second
	// most is the number of connections above which the table is crowded. A crowded table applies
	// the limit crowded instead of idle and unanswered.
	most    = 1 << 20
	crowded = 10 * second
	sweeps  = 10 * second
	// mostAsked limits the number of connection requests that no client has confirmed. If a flood
	// of requests exceeds this limit, the table forgets the oldest requests.
	mostAsked = 1 << 16
	// holeFor is how long the table waits for missing bytes. A retransmission would arrive sooner.
	holeFor = 10 * second
	// twinsWithin is the maximum time between two copies of a packet that have different addresses.
	twinsWithin = 3 * second
	// Limits on the number of bytes that follow holes and wait to be decoded.
	heldOfStream = 4 << 20
	heldOfAll    = 64 << 20
)

// Reasons for gaps.
const (
	wasOpen  = "the connection was open before the capture began, so it is not recorded until its client connects again"
	lostOpen = "the beginning of the connection was not captured, so the connection is not recorded"
	secured  = "the connection uses TLS, which a capture cannot decode; record it with a relay instead (--listen, --to, --cert, --key and --cacert)"
	notHeard = "a packet of the connection was not captured, so the rest of the connection is not recorded"
	tooMuch  = "a packet of the connection was not captured and too much data followed it, so the rest of the connection is not recorded"
	noEnd    = "the end of the connection was not captured, because another connection now uses the same client address"
)

// ends contains the addresses of a connection.
type ends struct{ client, server netip.AddrPort }

// state is the extent to which a connection is decoded.
type state uint8

const (
	open       state = iota // all data is decoded
	unrecorded              // nothing is decoded
	closed
)

// conn is a connection. A connection begins with the client's SYN.
type conn struct {
	number  uint32
	tap     *Conn // set from the first byte to the end
	state   state
	asked   uint32 // the client's initial sequence number
	agreed  uint32 // the member's initial sequence number, if its stream is known
	streams [2]stream
	// confirmed is set if the client has sent anything after its SYN.
	confirmed bool
	since     int64 // time at which the SYN arrived
	at        int64 // time at which the last packet arrived
	// twin is an earlier connection that may be the same connection with other addresses. The two
	// are the same if the member answered both with the same initial sequence number.
	twin *conn
}

// The indexes of a connection's streams.
const (
	ofClient = iota
	ofServer
)

// table assigns packets to connections and decodes them. It is not safe for concurrent use.
type table struct {
	tap       TapConfig
	at        func(netip.AddrPort) bool // reports whether an address is the member's
	port      uint16
	conns     map[ends]*conn
	asks      map[uint32]*conn // recent connections, by the client's initial sequence number
	elsewhere map[netip.Addr]bool
	last      int64 // time at which the last packet arrived
	swept     int64
	held      int    // number of bytes that wait after holes
	number    uint32 // number of connections so far
	open      uint32 // number of these connections that were open before the capture
	dropped   bool   // set if packets were lost, so that the beginning of a connection may be missing
	most      int
	// asked is a ring of the latest connection requests. oldest is the index of the oldest request.
	asked  []asking
	oldest int
}

// asking is a connection request and its addresses.
type asking struct {
	ends ends
	conn *conn
}

func newTable(cfg *TapConfig, port uint16, at func(netip.Addr) bool) *table {
	return &table{
		tap: *cfg, port: port, most: most, conns: map[ends]*conn{}, asks: map[uint32]*conn{}, elsewhere: map[netip.Addr]bool{},
		at: func(a netip.AddrPort) bool { return a.Port() == port && at(a.Addr()) },
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
	t.last = max(t.last, at)
	t.segment(&s)
	if passed := t.last - t.swept; passed >= sweeps || passed >= second && len(t.conns) > 2*t.most {
		t.sweep()
	}
}

func (t *table) segment(s *segment) {
	if s.flags&(flagSYN|flagACK) == flagSYN {
		if t.at(s.to) {
			t.handleSYN(s)
		} else {
			t.countOther(s)
		}
		return
	}
	side, c := t.connOf(s)
	if c == nil {
		return
	}
	c.at = t.last
	c.confirmed = c.confirmed || side == ofClient && s.flags&flagRST == 0
	switch {
	case c.state == closed:
	case c.state == unrecorded:
		if s.flags&(flagFIN|flagRST) != 0 {
			c.state = closed
		}
	case s.flags&flagRST != 0:
		t.reset(c, side, s)
	default:
		t.goesOn(c, side, s)
	}
}

// connOf returns the connection of a segment and the side of its sender. If a segment with data
// belongs to no known connection, it starts a connection whose beginning was not captured.
func (t *table) connOf(s *segment) (side int, c *conn) {
	sent, answered := ends{s.from, s.to}, ends{s.to, s.from}
	if c = t.conns[sent]; c != nil {
		return ofClient, c
	}
	if c = t.conns[answered]; c != nil {
		return ofServer, c
	}
	if len(s.payload) == 0 {
		return 0, nil
	}
	switch {
	case t.at(s.to):
		t.conns[sent] = t.unknown()
	case t.at(s.from):
		t.conns[answered] = t.unknown()
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
	if len(t.elsewhere) < 3 {
		t.elsewhere[at.Addr()] = true
	}
}

func (t *table) unknown() *conn {
	t.number++
	why := lostOpen
	if !t.dropped {
		t.open++
		why = wasOpen
	}
	t.tap.Sink.Gap(call.Gap{At: t.last, Conn: t.number, Why: why})
	return &conn{number: t.number, state: unrecorded, at: t.last}
}

// handleSYN handles a SYN, with which a client requests a connection.
func (t *table) handleSYN(s *segment) {
	key := ends{s.from, s.to}
	if before := t.conns[key]; before != nil {
		if before.state != closed && before.asked == s.seq {
			return // a retransmission
		}
		t.end(before, noEnd)
	}
	c := &conn{asked: s.seq, since: t.last, at: t.last}
	if twin := t.asks[s.seq]; twin != nil && t.last-twin.since <= twinsWithin && len(s.payload) == 0 {
		c.twin = twin // address translation does not change a packet's sequence number
	} else {
		t.asks[s.seq] = c
		t.count(c)
	}
	c.streams[ofClient].begin(s.seq + 1)
	t.conns[key] = c
	t.remember(asking{key, c})
	t.bytes(c, ofClient, s.seq+1, s.payload) // the SYN may contain data (TCP Fast Open)
}

// remember adds a connection request to the ring. If the ring is full, the request replaces the
// oldest request. If no client has confirmed the oldest request and its connection has sent no
// data, remember also forgets that connection. A flood of requests therefore affects no other
// connection.
func (t *table) remember(a asking) {
	if len(t.asked) < mostAsked {
		t.asked = append(t.asked, a)
		return
	}
	old := t.asked[t.oldest]
	t.asked[t.oldest] = a
	t.oldest = (t.oldest + 1) % mostAsked
	if c := old.conn; !c.confirmed && c.tap == nil && c.streams[ofClient].bytes+c.streams[ofServer].bytes == 0 && t.conns[old.ends] == c {
		delete(t.conns, old.ends)
		if t.asks[c.asked] == c {
			delete(t.asks, c.asked)
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
	if twin.agreed == c.agreed && twin.asked == c.asked {
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
	case !own.known:
		t.end(c, "")
	case behind < -1, behind == -1 && !own.over: // an old segment; a FIN also occupies a sequence number
	case behind > 0, s.flags&flagACK != 0 && other.known && other.offset(s.ack) > 0:
		t.lose(c, notHeard) // the connection may continue: the receiver may ignore the RST (RFC 5961, section 3)
	default:
		t.end(c, "")
	}
}

// goesOn handles a segment of a connection that is decoded, unless the segment is a RST or the
// client's SYN.
func (t *table) goesOn(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++
		// A server that has lost its state answers with a new initial sequence number, which
		// replaces the previous one.
		if side == ofServer && (!own.known || own.next == c.agreed+1 && !own.last && len(own.held) == 0) {
			c.agreed = s.seq
			own.begin(seq)
		}
	}
	if c.twin != nil && len(s.payload) > 0 && t.isCopy(c) {
		c.state = unrecorded
		return
	}
	switch {
	case s.flags&flagACK != 0 && (!other.known || other.offset(s.ack) > 0):
		t.lose(c, notHeard) // the segment acknowledges bytes that were not captured
		return
	case !own.known:
		t.lose(c, notHeard)
		return
	case len(own.held) > 0 && t.last-own.since > holeFor:
		t.lose(c, notHeard)
		return
	}
	t.bytes(c, side, seq, s.payload)
	switch {
	case c.state != open:
		return
	case s.cut:
		t.lose(c, notHeard)
		return
	case s.flags&flagFIN != 0:
		own.finish(seq + uint32(len(s.payload)))
	}
	if own.over && other.over {
		t.end(c, "")
	}
}

// bytes handles the payload of a segment.
func (t *table) bytes(c *conn, side int, seq uint32, b []byte) {
	if len(b) == 0 {
		return
	}
	s := &c.streams[side]
	first := side == ofClient && s.next == c.asked+1
	why := ""
	t.held -= s.bytes
	s.add(seq, b, t.last, func(b []byte) {
		switch {
		case why != "":
		case first && isTLS(b):
			why = secured
		case !t.feed(c, side, b):
			why = notHeard // ignored if the tap has already reported a reason
		}
		first = false
	})
	if t.held += s.bytes; s.bytes > heldOfStream || t.held > heldOfAll && s.bytes > 0 {
		why = tooMuch
	}
	if why != "" {
		t.lose(c, why)
	}
}

func (t *table) feed(c *conn, side int, b []byte) bool {
	if c.tap == nil {
		c.tap = t.tap.Begin(c.number)
	}
	return c.tap.Feed(side == ofClient, t.last, b)
}

// isTLS reports whether a client's first bytes are a TLS record (RFC 8446, section 5.1).
func isTLS(b []byte) bool { return len(b) >= 2 && b[0] == 22 && b[1] == 3 }

// lose stops decoding a connection that is still open. The reported gap begins at the first hole.
func (t *table) lose(c *conn, why string) {
	if c.twin != nil && t.isCopy(c) {
		t.endConn(c, unrecorded)
		return
	}
	if c.tap == nil {
		c.tap = t.tap.Begin(c.number)
	}
	since := t.last
	for i := range c.streams {
		if s := &c.streams[i]; len(s.held) > 0 {
			since = min(since, s.since)
		}
	}
	c.tap.Missing(since, why)
	t.endConn(c, unrecorded)
}

// end ends a connection. If why is not empty, end reports a gap with this reason even if no bytes
// are missing.
func (t *table) end(c *conn, why string) {
	switch {
	case c.state != open:
	case !c.streams[ofClient].complete() || !c.streams[ofServer].complete():
		t.lose(c, notHeard)
	case c.tap != nil && why != "":
		t.lose(c, why)
	}
	t.endConn(c, closed)
}

func (t *table) endConn(c *conn, to state) {
	if c.tap != nil {
		c.tap.End(t.last, "")
	}
	t.held -= c.streams[ofClient].bytes + c.streams[ofServer].bytes
	c.tap, c.twin, c.streams = nil, nil, [2]stream{}
	c.state, c.at = to, t.last
}

// sweep forgets connections that ended, or that became idle, long enough ago.
func (t *table) sweep() {
	t.swept = t.last
	long := idle
	if len(t.conns) > t.most {
		long = crowded
	}
	for key, c := range t.conns {
		age, limit := t.last-c.at, long
		switch {
		case c.state == closed:
			limit = kept
		case c.state == unrecorded:
		case c.tap != nil:
			continue // the connection is open
		case !c.streams[ofServer].known:
			limit = min(unanswered, long)
		}
		if age > limit {
			delete(t.conns, key)
		}
	}
	for number, c := range t.asks {
		if t.last-c.since > twinsWithin {
			delete(t.asks, number)
		}
	}
}

// finish ends all connections, in the order in which they began.
func (t *table) finish(at int64) {
	t.last = max(t.last, at)
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
	t.tap.Sink.Gap(call.Gap{At: t.last, Why: fmt.Sprintf("%s could not be read in time, so later requests, replies and whole connections may be missing", text.Plural(n, "packet"))})
}
