package engine

import (
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

type connState uint8

const (
	down connState = iota
	dialing
	up
	// parting is a connection that broke and whose operations get their outcomes
	// now, or one of one operation that ends with its session. Nothing is dialled
	// meanwhile.
	parting
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
	misled   bool   // it is connected elsewhere
	codec    store.Codec
	open     int      // operations that the codec has
	late     int      // of those: given up, and their answers awaited
	unsent   []unsent // submitted and not written, in the order of their bytes
	wrote    uint64   // bytes, since it was dialled
	queue    []waiter // operations that wait for room, oldest first
	stalled  bool     // it takes no operation, and has none open whose end would make room
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

func (c *conn) leaving() bool { return c.moved || c.misled || c.codec.Draining() }

// ready reports whether an operation can be submitted now.
func (c *conn) ready() bool {
	return c.state == up && !c.blocked && !c.leaving() && c.codec.Room() > 0
}

// mute is why the connection is given up, on which nothing comes any more.
func (c *conn) mute() error {
	m, ok := c.codec.(store.SessionCodec)
	if !ok {
		return nil
	}
	why := m.Mute()
	if why != nil {
		why = fmt.Errorf("the connection to %s is given up: %w", c.endpoint, why)
	}
	return why
}

// vacant reports whether a connection of one operation can take one: its place
// has none, and nothing waits for it.
func (c *conn) vacant() bool { return c.state == down && c.redialAt == never && len(c.queue) == 0 }

// ended is the sentence about a connection that reading found at its end.
func (c *conn) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed the connection", c.endpoint)
	}
	return fmt.Errorf("the connection to %s ended: %w", c.endpoint, err)
}

// outcomes appends how each operation on a connection that broke ended.
func (c *conn) outcomes(to []store.Event) []store.Event {
	text := c.err.Error()
	to = c.codec.Lost(to)
	for k := range to {
		if ev := &to[k]; ev.What == store.Done && len(ev.Text) == 0 {
			ev.Text = []byte(text)
		}
	}
	return to
}

// answered reports whether an event comes from the server.
func answered(ev *store.Event) bool {
	return ev.Outcome != kv.NotSent && ev.Outcome != kv.ConnectionLost
}
