package engine

import (
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load/random"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The wait before a lost connection is dialled again doubles from the first to
// the last, and is drawn from its upper half so that connections do not come
// back in step.
const (
	firstBackoff = 10 * millisecond
	lastBackoff  = secondNS
)

type connState uint8

const (
	down connState = iota
	dialing
	up
	parting // a connection of one operation that ends with its session
)

// conn is a place's connection: what is there now, and what waits for it. It
// is dialled again when it is lost, until the load moves elsewhere.
type conn struct {
	place    int
	linked   bool // counted as a connection to its endpoint
	moved    bool // the place has another connection; what is open here drains
	movedAt  int64
	state    connState
	endpoint string // where it is or was connected
	want     string // where it should be
	codec    store.Codec
	open     int      // operations that the codec has
	late     int      // of those: given up, and their answers awaited
	unsent   []unsent // submitted and not written, in the order of their bytes
	wrote    uint64   // bytes, since it was dialled
	queue    []waiter // closed loop: operations that wait for room, oldest first
	blocked  bool     // the socket takes nothing now
	dirty    bool
	proven   bool // an answer came since it was dialled
	member   uint64
	tick     int64
	backoff  int64
	redialAt int64
	dials    uint64
	err      error // why the last attempt failed
}

// unsent is an operation of which nothing was written yet: its first byte comes
// after so many on the connection.
type unsent struct {
	after uint64
	tag   uint32
	n     uint64 // the tag may have been used again since
}

// waiter names an operation; the tag may have been used again since, the
// number not.
type waiter struct {
	tag uint32
	n   uint64
}

func (c *conn) leaving() bool { return c.moved || c.want != c.endpoint || c.codec.Draining() }

// ready reports whether an operation can be submitted now.
func (c *conn) ready() bool {
	return c.state == up && !c.blocked && !c.leaving() && c.codec.Room() > 0
}

func (l *Loop) dial(i int) {
	c := l.conns[i]
	c.state, c.endpoint, c.redialAt = dialing, c.want, never
	c.dials++
	l.poller.Dial(i, c.endpoint)
}

func (l *Loop) dialed(i int, err error) {
	c := l.conns[i]
	if c.state != dialing {
		return
	}
	if err == nil && c.want != c.endpoint {
		l.poller.Close(i)
		l.dial(i)
		return
	}
	if err != nil {
		c.err = err
		l.redialLater(i)
		return
	}
	l.linked(c)
	c.state, c.err, c.blocked, c.proven, c.member = up, nil, false, false, l.cfg.MemberAt(c.endpoint)
	before := c.codec
	if l.cfg.NewConnection {
		before = nil
	}
	c.codec, c.tick = l.cfg.Codecs(store.Dialed{Endpoint: c.endpoint, Now: l.now, Previous: before, Parts: l.parts}), 0
	c.unsent, c.wrote = c.unsent[:0], 0
	l.tickConn(i)
	l.pump(i)
	l.touch(i)
}

func (l *Loop) redialLater(i int) {
	c := l.conns[i]
	l.unlinked(c, true)
	c.state = down
	c.backoff = min(max(c.backoff*2, firstBackoff), lastBackoff)
	wait := c.backoff/2 + int64(random.Unit(l.cfg.Seed+uint64(i), c.dials)*float64(c.backoff/2))
	c.redialAt = l.now + wait
	l.redial = min(l.redial, c.redialAt)
}

// ended is the sentence about a connection that reading found at its end.
func (c *conn) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed the connection", c.endpoint)
	}
	return fmt.Errorf("the connection to %s ended: %w", c.endpoint, err)
}

// handle acts on the events that a codec has told.
func (l *Loop) handle(i int) {
	c := l.conns[i]
	for k := range l.events {
		ev := &l.events[k]
		if ev.What >= store.Notify || ev.Tag&watchMark != 0 {
			l.watchEvent(i, ev)
			continue
		}
		switch ev.What {
		case store.Late:
			c.open--
			c.late--
			l.slots.release(ev.Tag)
		case store.Done:
			c.open--
			c.note(l, ev)
			l.finishOp(ev.Tag, true, ev, l.now)
			if l.cfg.NewConnection {
				l.leave(i)
			}
		}
	}
}

// note keeps what an answer tells about its member and term.
func (c *conn) note(l *Loop, ev *store.Event) {
	switch ev.Outcome {
	case kv.NotSent, kv.ConnectionLost: // nothing was answered
	default:
		c.proven = true
	}
	if ev.Member != 0 && c.member != ev.Member {
		c.member = ev.Member
		l.res.MemberOf[c.endpoint] = ev.Member
	}
	if ev.Term > l.maxTerm {
		l.maxTerm = ev.Term
		l.cfg.Changed(ev.Term, false)
	}
}

// lost ends a connection: every operation on it gets its outcome, and it is
// dialled again.
func (l *Loop) lost(i int, why error) {
	c := l.conns[i]
	if l.cfg.NewConnection {
		l.lostOne(i, why)
		return
	}
	l.poller.Close(i)
	c.state, c.err = down, why
	if c.proven {
		c.backoff = 0
	}
	text := why.Error()
	l.events = c.codec.Lost(l.events[:0])
	for k := range l.events {
		if ev := &l.events[k]; ev.What == store.Done && len(ev.Text) == 0 {
			ev.Text = []byte(text)
		}
	}
	l.handle(i)
	l.watchLost(i)
	l.releaseLate(i)
	c.open, c.late = 0, 0
	if c.moved {
		l.retire(i)
		return
	}
	l.res.Reconnects++
	if c.want != c.endpoint {
		l.dial(i)
		return
	}
	l.redialLater(i)
	l.cfg.Changed(0, true)
}

// releaseLate frees the places of operations whose late answers cannot come
// any more.
func (l *Loop) releaseLate(i int) {
	for tag := range l.slots.table {
		if sl := &l.slots.table[tag]; sl.state == late && int(sl.conn) == i {
			l.slots.release(uint32(tag))
		}
	}
}

// errUnproven is why a connection is not made again at once.
var errUnproven = errors.New("ends each connection before it answers anything")

// replace ends a connection that has nothing open and is to leave. Where it is
// the server that wants that and has answered nothing, the next one waits: it
// would end likewise.
func (l *Loop) replace(i int) {
	l.flush(i)
	if l.conns[i].state != up {
		return
	}
	ends := l.conns[i].codec.Draining()
	l.poller.Close(i)
	// Nothing is open; the codec may share a login that it must give up.
	l.events = l.conns[i].codec.Lost(l.events[:0])
	l.watchLost(i)
	l.releaseLate(i)
	c := l.conns[i]
	c.open, c.late = 0, 0
	l.res.Reconnects++
	if c.want == c.endpoint && ends && !c.proven {
		c.err = fmt.Errorf("%s %w", c.endpoint, errUnproven)
		l.redialLater(i)
		return
	}
	c.backoff = 0
	l.dial(i)
}
