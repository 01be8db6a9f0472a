package engine

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"io"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
)

// sim is a Poller with its own clock, so a wait takes no real time. Functions simulate the servers.
type sim struct {
	now    int64
	conns  []simConn
	events simEvents
	seq    int
	// serve handles a request that has arrived. It calls reply to send the response.
	serve func(s *sim, conn int, request []byte)
	// dial returns the result of a dial. If it is nil, every dial succeeds.
	dial func(s *sim, conn int, endpoint string) error
	// wire is the time that a message takes in one direction, in nanoseconds.
	wire int64
	// lag returns how late a wake-up is, to simulate a busy machine.
	lag func(now int64) int64
	at  func(s *sim) // called at each wait
	// If together is set, a wait returns all events that have happened until now, as an operating
	// system does. Otherwise each wait returns a single event.
	together bool
	written  func(s *sim, conn int) // called at each write
	// most is the maximum number of bytes that a connection accepts in a write. After 1 ms, the
	// connection accepts as many bytes again. 0 means no limit.
	most int
}

type simConn struct {
	open    bool
	gen     int
	in      []byte
	ended   error
	stuck   bool // accepts no bytes
	denied  bool // a call of Write refused bytes; Writable was not reported since then
	dialed  bool
	dialErr error
}

type simEvent struct {
	at  int64
	seq int
	do  func()
}

type simEvents []simEvent

func (h simEvents) Len() int { return len(h) }
func (h simEvents) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h simEvents) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *simEvents) Push(x any)   { *h = append(*h, x.(simEvent)) }
func (h *simEvents) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func newSim(conns int) *sim {
	return &sim{conns: make([]simConn, conns), wire: 10_000, now: 1_000_000_000}
}

// schedule calls `do` when d nanoseconds have passed.
func (s *sim) schedule(d int64, do func()) {
	s.seq++
	heap.Push(&s.events, simEvent{at: s.now + d, seq: s.seq, do: do})
}

// reply delivers bytes to the loop when d nanoseconds have passed.
func (s *sim) reply(conn int, d int64, b []byte) {
	gen := s.conns[conn].gen
	s.schedule(d, func() {
		if c := &s.conns[conn]; c.open && c.gen == gen {
			c.in = append(c.in, b...)
		}
	})
}

// cut closes the connection from the server's side.
func (s *sim) cut(conn int) { s.conns[conn].ended = io.EOF }

func (s *sim) Now() int64  { return s.now }
func (s *sim) Attach() int { return 0 }
func (s *sim) Release()    {}
func (s *sim) Wake()       {}

func (s *sim) Wait(until int64, ready []poll.Ready) []poll.Ready {
	if s.at != nil {
		s.at(s)
	}
	for {
		for s.together && len(s.events) > 0 && s.events[0].at <= s.now {
			heap.Pop(&s.events).(simEvent).do()
		}
		ready = s.scan(ready)
		if len(ready) > 0 {
			return ready
		}
		if len(s.events) == 0 || s.events[0].at > until {
			s.now = max(s.now, until)
			if s.lag != nil {
				s.now += s.lag(s.now)
			}
			return ready
		}
		e := heap.Pop(&s.events).(simEvent)
		s.now = max(s.now, e.at)
		e.do()
	}
}

// scan appends to `ready` an element for each connection that is ready.
func (s *sim) scan(ready []poll.Ready) []poll.Ready {
	for i := range s.conns {
		c := &s.conns[i]
		if c.open && (len(c.in) > 0 || c.ended != nil) {
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Readable})
		}
		if c.open && c.denied && !c.stuck {
			c.denied = false
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Writable})
		}
		if c.dialed {
			c.dialed = false
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Dialed, Err: c.dialErr})
		}
	}
	return ready
}

func (s *sim) Dial(conn int, endpoint string) {
	for len(s.conns) <= conn {
		s.conns = append(s.conns, simConn{})
	}
	s.conns[conn] = simConn{gen: s.conns[conn].gen + 1}
	gen := s.conns[conn].gen
	s.schedule(s.wire, func() {
		c := &s.conns[conn]
		if c.gen != gen {
			return
		}
		c.dialErr = nil
		if s.dial != nil {
			c.dialErr = s.dial(s, conn, endpoint)
		}
		if c.dialErr == errHangs {
			return
		}
		c.open, c.dialed = c.dialErr == nil, true
	})
}

func (s *sim) Read(conn int, p []byte) (int, error) {
	c := &s.conns[conn]
	if len(c.in) == 0 {
		if c.ended != nil {
			return 0, c.ended
		}
		return 0, poll.ErrAgain
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (s *sim) Write(conn int, p []byte) (int, error) {
	c := &s.conns[conn]
	if !c.open {
		return 0, errors.New("written to a closed connection")
	}
	if s.written != nil {
		s.written(s, conn)
	}
	if c.stuck {
		c.denied = true
		return 0, nil
	}
	gen := c.gen
	if s.most > 0 && len(p) > s.most {
		p = p[:s.most]
		c.stuck, c.denied = true, true
		s.schedule(millisecond, func() {
			if c := &s.conns[conn]; c.gen == gen {
				c.stuck = false
			}
		})
	}
	for b := p; len(b) >= requestLen; b = b[requestLen:] {
		request := append([]byte(nil), b[:requestLen]...)
		s.schedule(s.wire, func() {
			if c := &s.conns[conn]; c.open && c.gen == gen && s.serve != nil {
				s.serve(s, conn, request)
			}
		})
	}
	return len(p), nil
}

func (s *sim) Close(conn int) {
	s.conns[conn] = simConn{gen: s.conns[conn].gen + 1}
}

// In the simulated protocol, a request consists of a tag and a kind. A reply consists of a tag and
// an outcome.
const (
	requestLen = 5
	replyLen   = 5
)

// reply returns the reply to a request.
func reply(request []byte, o kv.Outcome) []byte {
	return append(append([]byte(nil), request[:4]...), byte(o))
}

var errRefused = errors.New("connection refused")

// errHangs makes a dial hang forever if the function dial returns it.
var errHangs = errors.New("no answer")

// simCodec is the codec of the simulated protocol.
type simCodec struct {
	out      []byte
	openTags map[uint32]bool
	room     int
	noCancel bool // a cancelled operation still waits for its reply, as in HTTP/1.1
	given    map[uint32]bool
	left     int // number of requests until the connection is Draining; 0: no limit
	// submitted is called with each operation. notify is called with the number in a message that
	// has the notifyMark, and returns the watch event with that number.
	submitted func(*store.Op)
	notify    func(number uint32) store.Event
}

// notifyMark takes the place of the outcome in a message that carries a watch event.
const notifyMark = 255

// event returns the message that carries the watch event with the given number.
func event(number uint32) []byte {
	return append(binary.BigEndian.AppendUint32(nil, number), notifyMark)
}

func newSimCodec(room int) *simCodec {
	return &simCodec{openTags: map[uint32]bool{}, given: map[uint32]bool{}, room: room}
}

func (c *simCodec) Room() int { return c.room - len(c.openTags) - len(c.given) }
func (c *simCodec) Submit(op *store.Op) {
	c.openTags[op.Tag] = true
	if c.submitted != nil {
		c.submitted(op)
	}
	c.out = binary.BigEndian.AppendUint32(c.out, op.Tag)
	c.out = append(c.out, byte(op.Kind))
	if c.left > 0 {
		c.left--
		if c.left == 0 {
			c.left = -1
		}
	}
}
func (c *simCodec) Cancel(tag uint32) bool {
	delete(c.openTags, tag)
	if c.noCancel {
		c.given[tag] = true
	}
	return !c.noCancel
}
func (c *simCodec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	for ; len(in) >= replyLen; in = in[replyLen:] {
		tag := binary.BigEndian.Uint32(in)
		ev := store.Event{Tag: tag, Outcome: kv.Outcome(in[4]), Member: 7, Term: 1}
		switch {
		case in[4] == notifyMark:
			ev = c.notify(tag)
		case c.openTags[tag]:
			delete(c.openTags, tag)
		case c.given[tag]:
			delete(c.given, tag)
			ev.Type = store.LateResponse
		default:
			continue
		}
		to = append(to, ev)
	}
	return to, nil
}
func (c *simCodec) Lost(to []store.Event) []store.Event {
	for tag := range c.openTags {
		to = append(to, store.Event{Tag: tag, Outcome: kv.ConnectionLost})
	}
	return to
}
func (c *simCodec) Tick(int64) int64 { return 0 }
func (c *simCodec) Out() []byte      { return c.out }
func (c *simCodec) Wrote(n int)      { c.out = c.out[:copy(c.out, c.out[n:])] }
func (c *simCodec) Draining() bool   { return c.left < 0 }
