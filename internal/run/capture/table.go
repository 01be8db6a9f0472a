package capture

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/run/tap"
)

const (
	second = int64(1e9)
	// kept is how long a connection that has ended is remembered, so that packets of it
	// that come late are not another's; a client's port is not used again before that.
	kept = 60 * second
	// unanswered is how long a connection may be asked for.
	unanswered = 120 * second
	sweeps     = 10 * second
)

// Sentences of what is missing.
const (
	wasOpen  = "the connection was open before the capture began, and is not recorded; its client has to connect again"
	secured  = "the connection is over TLS, which a capture cannot read: record it as a relay, with --listen, --to, --cert, --key and --cacert"
	notHeard = "a packet of the connection was not captured: from here on it is not recorded"
	tooEarly = "a packet of the connection was not captured, and too much came behind it: from here on it is not recorded"
)

// ends are the two ends of a connection.
type ends struct{ client, server netip.AddrPort }

// state is what of a connection is understood.
type state uint8

const (
	asked      state = iota // the member has not answered yet
	open                    // all
	unrecorded              // nothing
	closed
)

// conn is a connection, from the packet on in which its client asks for it.
type conn struct {
	tap     *tap.Conn // nil: it was open before
	state   state
	asked   uint32 // the number with which its client did
	streams [2]stream
	at      int64 // when a packet of it was last heard
}

// The streams of a connection.
const (
	ofClient = iota
	ofServer
)

// table understands packets. It belongs to one goroutine.
type table struct {
	tap    tap.Config
	at     func(netip.AddrPort) bool // the member is reached there
	conns  map[ends]*conn
	last   int64 // when the last packet was heard
	swept  int64
	number uint32 // connections so far
	open   uint32 // of which were open before
}

func newTable(cfg *tap.Config, at func(netip.AddrPort) bool) *table {
	return &table{tap: *cfg, at: at, conns: map[ends]*conn{}}
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
	if t.last-t.swept >= sweeps {
		t.sweep()
	}
}

func (t *table) segment(s *segment) {
	if s.flags&(flagSYN|flagACK) == flagSYN {
		if t.at(s.to) {
			t.asks(s)
		}
		return
	}
	side, c := t.of(s)
	if c == nil || c.state == closed {
		return
	}
	c.at = t.last
	switch {
	case c.state == unrecorded:
		if s.flags&(flagFIN|flagRST) != 0 {
			c.state = closed
		}
	case s.flags&flagRST != 0:
		if own := &c.streams[side]; !own.known || own.behind(s.seq) >= 0 { // else it is of long ago
			t.close(c)
		}
	default:
		t.goesOn(c, side, s)
	}
}

// of is the connection of a segment, and whose it is. One that carries bytes of none that
// is known is of one that was open before.
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
		t.conns[sent] = t.wasOpen()
	case t.at(s.from):
		t.conns[answered] = t.wasOpen()
	}
	return 0, nil
}

func (t *table) wasOpen() *conn {
	t.number++
	t.open++
	t.tap.Sink.Gap(recording.Gap{At: t.last, Conn: t.number, Why: wasOpen})
	return &conn{state: unrecorded, at: t.last}
}

// asks takes the segment with which a client asks for a connection.
func (t *table) asks(s *segment) {
	key := ends{s.from, s.to}
	if before := t.conns[key]; before != nil {
		if before.tap != nil && before.state != closed && before.asked == s.seq {
			return // it was sent again
		}
		t.close(before) // its end was not heard, and its client's port is another's
	}
	t.number++
	c := &conn{tap: t.tap.Begin(t.number), asked: s.seq, at: t.last}
	c.streams[ofClient].begin(s.seq + 1)
	t.conns[key] = c
	t.bytes(c, ofClient, s.seq+1, s.payload) // with TCP Fast Open
}

// goesOn takes any other segment.
func (t *table) goesOn(c *conn, side int, s *segment) {
	own, other := &c.streams[side], &c.streams[1-side]
	seq := s.seq
	if s.flags&flagSYN != 0 {
		if seq++; side == ofServer && !own.known {
			own.begin(seq)
			c.state = open
		}
	}
	switch {
	case s.flags&flagACK != 0 && other.known && other.behind(s.ack) > 0:
		t.lose(c, notHeard) // the other end has it
		return
	case !own.known:
		if len(s.payload) > 0 || s.flags&flagFIN != 0 {
			t.lose(c, notHeard)
		}
		return
	}
	t.bytes(c, side, seq, s.payload)
	switch {
	case c.state == unrecorded:
		return
	case s.cut:
		t.lose(c, notHeard)
		return
	case s.flags&flagFIN != 0:
		own.finish(seq + uint32(len(s.payload)))
	}
	if own.over && other.over {
		t.close(c)
	}
}

// bytes takes the bytes of a segment.
func (t *table) bytes(c *conn, side int, seq uint32, b []byte) {
	if len(b) == 0 {
		return
	}
	s := &c.streams[side]
	began := s.next
	understood := true
	why := notHeard
	fits := s.take(seq, b, func(b []byte) {
		switch {
		case !understood:
		case side == ofClient && s.next-began == uint32(len(b)) && began == c.asked+1 && isTLS(b):
			understood, why = false, secured
		default:
			understood = c.tap.Feed(side == ofClient, t.last, b)
		}
	})
	switch {
	case !fits:
		t.lose(c, tooEarly)
	case !understood:
		t.lose(c, why) // which is not said again where the tap has said why
	}
}

// isTLS reports whether a client begins with a record of TLS (RFC 8446, section 5.1).
func isTLS(b []byte) bool { return len(b) >= 2 && b[0] == 22 && b[1] == 3 }

// lose ends what is understood of a connection that goes on.
func (t *table) lose(c *conn, why string) {
	if c.tap != nil {
		c.tap.End(t.last, why)
	}
	c.state = unrecorded
	c.streams = [2]stream{}
}

// close ends a connection.
func (t *table) close(c *conn) {
	if c.tap != nil && c.state != closed {
		why := ""
		if !c.streams[ofClient].whole() || !c.streams[ofServer].whole() {
			why = notHeard
		}
		c.tap.End(t.last, why)
	}
	c.state, c.at = closed, t.last
	c.streams = [2]stream{}
}

// sweep forgets what is long over.
func (t *table) sweep() {
	t.swept = t.last
	for key, c := range t.conns {
		switch age := t.last - c.at; {
		case c.state == closed && age > kept:
			delete(t.conns, key)
		case c.state == asked && age > unanswered:
			t.close(c)
		}
	}
}

// end ends all connections, in the order in which they began.
func (t *table) end(at int64) {
	t.last = max(t.last, at)
	var left []*conn
	for _, c := range t.conns {
		if c.tap != nil && c.state != closed {
			left = append(left, c)
		}
	}
	slices.SortFunc(left, func(a, b *conn) int { return int(int64(a.tap.Number()) - int64(b.tap.Number())) })
	for _, c := range left {
		t.close(c)
	}
}

// dropped says that the system had no room for so many packets.
func (t *table) dropped(n uint64, at int64) {
	t.last = max(t.last, at)
	t.tap.Sink.Gap(recording.Gap{At: t.last, Why: fmt.Sprintf("%d packets came faster than they could be read: the connections that they were of are not recorded from there on, and whole connections may be missing", n)})
}
