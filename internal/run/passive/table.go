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
	// kept is how long an ended connection is remembered after its last packet, so that its
	// late packets are not taken for another connection's.
	kept = 60 * second
	// unanswered is how long a connection request may remain unanswered.
	unanswered = 120 * second
	// idle is how long a connection is remembered that is not decoded, or on which no data
	// was sent.
	idle = 3600 * second
	// most is the number of connections that may be remembered for that long. If there are
	// more, the limit is crowded.
	most    = 1 << 20
	crowded = 10 * second
	sweeps  = 10 * second
	// mostAsked bounds the connection requests that no client has confirmed. If there are
	// more, as in a flood of requests, the oldest are forgotten.
	mostAsked = 1 << 16
	// holeFor is how long a hole may last: a retransmission arrives sooner.
	holeFor = 10 * second
	// twinsWithin is the greatest time between two copies of a packet with different
	// addresses.
	twinsWithin = 3 * second
	// Bounds of the bytes that wait after holes.
	heldOfStream = 4 << 20
	heldOfAll    = 64 << 20
)

// Reasons for gaps.
const (
	wasOpen  = "the connection was open before the capture began, and is not recorded; its client has to connect again"
	lostOpen = "the beginning of the connection was not captured, and it is not recorded"
	secured  = "the connection is over TLS, which a capture cannot read: record it as a relay, with --listen, --to, --cert, --key and --cacert"
	notHeard = "a packet of the connection was not captured, and the rest of the connection is not recorded"
	tooMuch  = "a packet of the connection was not captured, and too much data came after it: the rest of the connection is not recorded"
	noEnd    = "the end of the connection was not captured: its client's address is another connection's now"
)

// ends holds the addresses of a connection.
type ends struct{ client, server netip.AddrPort }

// state says how much of a connection is decoded.
type state uint8

const (
	open       state = iota // everything, once data was sent
	unrecorded              // nothing
	closed
)

// conn is a connection, starting with its client's SYN.
type conn struct {
	number  uint32
	tap     *Conn // set from the first byte until the end
	state   state
	asked   uint32 // the initial sequence number of the client
	agreed  uint32 // that of the member, if its stream is known
	streams [2]stream
	// confirmed reports whether the client has sent anything after its SYN.
	confirmed bool
	since     int64 // when the SYN arrived
	at        int64 // when its last packet arrived
	// twin is the connection of which this may be a copy under other addresses. It is one if
	// the member answered both with the same sequence number.
	twin *conn
}

// The streams of a connection.
const (
	ofClient = iota
	ofServer
)

// table decodes packets. Only one goroutine may use it.
type table struct {
	tap       TapConfig
	at        func(netip.AddrPort) bool // whether an address is the member's
	port      uint16
	conns     map[ends]*conn
	asks      map[uint32]*conn // recent connections by their initial sequence number
	elsewhere map[netip.Addr]bool
	last      int64 // when the last packet arrived
	swept     int64
	held      int    // bytes that wait after holes
	number    uint32 // connections so far
	open      uint32 // of these, the ones that were open before the capture
	dropped   bool   // packets were lost, so the beginning of a connection may be missing
	most      int
	// asked is a ring of the latest connection requests; oldest is the index of the oldest.
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

// packet handles a packet that starts with the network header. length is its full length,
// and at its time.
func (t *table) packet(b []byte, length int, at int64) {
	var s segment
	if !parse(b, length, &s) {
		return
	}
	// The processors' clocks differ slightly, and the recording's times must not decrease.
	t.last = max(t.last, at)
	t.segment(&s)
	if passed := t.last - t.swept; passed >= sweeps || passed >= second && len(t.conns) > 2*t.most {
		t.sweep()
	}
}

func (t *table) segment(s *segment) {
	if s.flags&(flagSYN|flagACK) == flagSYN {
		if t.at(s.to) {
			t.ask(s)
		} else {
			t.other(s)
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

// connOf returns a segment's connection and its sender's side. A segment with data that belongs
// to no known connection starts a connection whose beginning was not captured.
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
		t.other(s)
	}
	return 0, nil
}

// other records that the port is used at an address that is not the member's.
func (t *table) other(s *segment) {
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

// ask handles a SYN, with which a client requests a connection.
func (t *table) ask(s *segment) {
	key := ends{s.from, s.to}
	if before := t.conns[key]; before != nil {
		if before.state != closed && before.asked == s.seq {
			return // a retransmission
		}
		t.end(before, noEnd)
	}
	c := &conn{asked: s.seq, since: t.last, at: t.last}
	if twin := t.asks[s.seq]; twin != nil && t.last-twin.since <= twinsWithin && len(s.payload) == 0 {
		c.twin = twin // address translation keeps a packet's sequence number
	} else {
		t.asks[s.seq] = c
		t.count(c)
	}
	c.streams[ofClient].begin(s.seq + 1)
	t.conns[key] = c
	t.remember(asking{key, c})
	t.bytes(c, ofClient, s.seq+1, s.payload) // data in the SYN (TCP Fast Open)
}

// remember adds a connection request to the ring. So that a flood of requests costs no
// other connection its calls, the replaced request's connection is forgotten if no client
// has confirmed it and it has sent no data.
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

// isCopy decides whether a connection is a copy of its twin, after the member has answered
// both.
func (t *table) isCopy(c *conn) bool {
	twin := c.twin
	c.twin = nil
	if twin.agreed == c.agreed && twin.asked == c.asked {
		return true
	}
	t.count(c)
	return false
}

// reset handles a RST. It ends the connection unless the segment is old.
func (t *table) reset(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	behind := own.behind(s.seq)
	switch {
	case !own.known:
		t.end(c, "")
	case behind < -1, behind == -1 && !own.over: // an old segment; a FIN has a sequence number as well
	case behind > 0, s.flags&flagACK != 0 && other.known && other.behind(s.ack) > 0:
		t.lose(c, notHeard) // the connection may continue: the receiver may ignore the RST (RFC 5961, section 3)
	default:
		t.end(c, "")
	}
}

// goesOn handles every other segment.
func (t *table) goesOn(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++
		// A server that has lost its state answers with another sequence number.
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
	case s.flags&flagACK != 0 && (!other.known || other.behind(s.ack) > 0):
		t.lose(c, notHeard) // the other end acknowledges bytes that were not captured
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
	s.take(seq, b, t.last, func(b []byte) {
		switch {
		case why != "":
		case first && isTLS(b):
			why = secured
		case !t.feed(c, side, b):
			why = notHeard // not reported if the tap has reported the reason
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

// isTLS reports whether a client begins with a TLS record (RFC 8446, section 5.1).
func isTLS(b []byte) bool { return len(b) >= 2 && b[0] == 22 && b[1] == 3 }

// lose stops decoding a connection that continues. The gap begins at the first hole.
func (t *table) lose(c *conn, why string) {
	if c.twin != nil && t.isCopy(c) {
		t.over(c, unrecorded)
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
	t.over(c, unrecorded)
}

// end ends a connection. why is a reason for a gap in addition to the holes.
func (t *table) end(c *conn, why string) {
	switch {
	case c.state != open:
	case !c.streams[ofClient].whole() || !c.streams[ofServer].whole():
		t.lose(c, notHeard)
	case c.tap != nil && why != "":
		t.lose(c, why)
	}
	t.over(c, closed)
}

func (t *table) over(c *conn, to state) {
	if c.tap != nil {
		c.tap.End(t.last, "")
	}
	t.held -= c.streams[ofClient].bytes + c.streams[ofServer].bytes
	c.tap, c.twin, c.streams = nil, nil, [2]stream{}
	c.state, c.at = to, t.last
}

// sweep forgets connections that have been over for long enough.
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

// drop reports lost packets after the last one that arrived.
func (t *table) drop(n uint64) {
	t.dropped = true
	t.tap.Sink.Gap(call.Gap{At: t.last, Why: fmt.Sprintf("%s came faster than they could be read: later requests and answers may be missing, and whole connections", text.Plural(n, "packet"))})
}
