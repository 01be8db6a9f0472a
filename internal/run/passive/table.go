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
	// kept is how long a connection that has ended is remembered, behind its last packet,
	// so that packets of it that come late are not another's.
	kept = 60 * second
	// unanswered is how long a connection may be asked for.
	unanswered = 120 * second
	// idle is how long a connection of which nothing is understood, or on which nothing was
	// said, is remembered.
	idle = 3600 * second
	// most is how many connections may be remembered so long; of more than that, those of
	// crowded.
	most    = 1 << 20
	crowded = 10 * second
	sweeps  = 10 * second
	// mostAsked is how many connections may be asked for that no client has confirmed. Of
	// more than that, which a flood of requests leaves, the oldest are forgotten.
	mostAsked = 1 << 16
	// holeFor is how long a hole may be there: what is sent again comes sooner.
	holeFor = 10 * second
	// twinsWithin is how soon one packet is heard again under another address.
	twinsWithin = 3 * second
	// Bounds of what waits behind holes, in bytes.
	heldOfStream = 4 << 20
	heldOfAll    = 64 << 20
)

// Sentences of what is missing.
const (
	wasOpen  = "the connection was open before the capture began, and is not recorded; its client has to connect again"
	lostOpen = "the beginning of the connection was not captured, and it is not recorded"
	secured  = "the connection is over TLS, which a capture cannot read: record it as a relay, with --listen, --to, --cert, --key and --cacert"
	notHeard = "a packet of the connection was not captured: from here on it is not recorded"
	tooMuch  = "a packet of the connection was not captured, and too much came behind it: from here on it is not recorded"
	noEnd    = "the end of the connection was not captured: its client's address is another connection's now"
)

// ends are the two ends of a connection.
type ends struct{ client, server netip.AddrPort }

// state is what of a connection is understood.
type state uint8

const (
	open       state = iota // all, as far as something was said
	unrecorded              // nothing
	closed
)

// conn is a connection, from the packet on in which its client asks for it.
type conn struct {
	number  uint32
	tap     *Conn // from its first byte on; nil before, and when it has ended
	state   state
	asked   uint32 // the numbers with which its client asked for it, and the member
	agreed  uint32 // agreed, where the member's stream is known
	streams [2]stream
	// confirmed says that the client has gone on after it asked.
	confirmed bool
	since     int64 // when it was asked for
	at        int64 // when a packet of it was last heard
	// twin is the connection that this is a copy of, under another address, if the member
	// agreed to both with one number.
	twin *conn
}

// The streams of a connection.
const (
	ofClient = iota
	ofServer
)

// table understands packets. It belongs to one goroutine.
type table struct {
	tap       TapConfig
	at        func(netip.AddrPort) bool // the member is reached there
	port      uint16
	conns     map[ends]*conn
	asks      map[uint32]*conn // by the numbers with which they were asked for, of late
	elsewhere map[netip.Addr]bool
	last      int64 // when the last packet was heard
	swept     int64
	held      int    // bytes that wait behind holes
	number    uint32 // connections so far
	open      uint32 // of which were open before
	dropped   bool   // packets were, so that a beginning may be missing
	most      int
	// asked are the connections that were asked for last, a ring whose oldest is at oldest.
	asked  []asking
	oldest int
}

// asking is a connection that was asked for, by its ends.
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

// packet takes a packet from its network header on, of which length bytes passed, and when.
func (t *table) packet(b []byte, length int, at int64) {
	var s segment
	if !parse(b, length, &s) {
		return
	}
	// Clocks of processors differ by little, and the recording's never goes back.
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
	side, c := t.of(s)
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

// of is the connection of a segment, and whose it is. One that carries bytes of none that
// is known is of one whose beginning was not heard.
func (t *table) of(s *segment) (side int, c *conn) {
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

// other notes that the port is used at an address that is not the member's.
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

// ask takes the segment with which a client asks for a connection.
func (t *table) ask(s *segment) {
	key := ends{s.from, s.to}
	if before := t.conns[key]; before != nil {
		if before.state != closed && before.asked == s.seq {
			return // it was sent again
		}
		t.end(before, noEnd)
	}
	c := &conn{asked: s.seq, since: t.last, at: t.last}
	if twin := t.asks[s.seq]; twin != nil && t.last-twin.since <= twinsWithin && len(s.payload) == 0 {
		c.twin = twin // a packet keeps its number where addresses are translated
	} else {
		t.asks[s.seq] = c
		t.count(c)
	}
	c.streams[ofClient].begin(s.seq + 1)
	t.conns[key] = c
	t.remember(asking{key, c})
	t.bytes(c, ofClient, s.seq+1, s.payload) // with TCP Fast Open
}

// remember adds a connection that was asked for. So that a flood of requests costs no other
// connection its calls, it forgets the oldest in its place that no client has confirmed, and
// that has said nothing.
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

// isCopy decides whether a connection is a copy of its twin, when both have been agreed to.
func (t *table) isCopy(c *conn) bool {
	twin := c.twin
	c.twin = nil
	if twin.agreed == c.agreed && twin.asked == c.asked {
		return true
	}
	t.count(c)
	return false
}

// reset takes a segment that ends a connection at once, if it is not of long ago.
func (t *table) reset(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	behind := own.behind(s.seq)
	switch {
	case !own.known:
		t.end(c, "")
	case behind < -1, behind == -1 && !own.over: // of long ago; the end has a number, too
	case behind > 0, s.flags&flagACK != 0 && other.known && other.behind(s.ack) > 0:
		t.lose(c, notHeard) // and it may go on: a receiver may refuse this (RFC 5961, section 3)
	default:
		t.end(c, "")
	}
}

// goesOn takes any other segment.
func (t *table) goesOn(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++
		// Who has forgotten that he agreed agrees with another number.
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
		t.lose(c, notHeard) // the other end has said it
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

// bytes takes the bytes of a segment.
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
			why = notHeard // which is not said where the tap has said why
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

// isTLS reports whether a client begins with a record of TLS (RFC 8446, section 5.1).
func isTLS(b []byte) bool { return len(b) >= 2 && b[0] == 22 && b[1] == 3 }

// lose ends what is understood of a connection that goes on. What is missing is missing
// since the first hole.
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

// end ends a connection; why is what of it is missing beside what is seen to be.
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

// sweep forgets what is long over.
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
			continue // it is open
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

// drop says that there was no room for so many packets behind those that were heard.
func (t *table) drop(n uint64) {
	t.dropped = true
	t.tap.Sink.Gap(call.Gap{At: t.last, Why: fmt.Sprintf("%s came faster than they could be read: what connections said from then on may be missing, and whole connections", text.Plural(n, "packet"))})
}
