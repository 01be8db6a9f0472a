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
	// parting is a connection that was lost and whose operations receive their outcomes
	// now, or a connection for a single operation that waits for the end of its session.
	// The place is not dialled in this state.
	parting
)

// conn is the connection of a place, and the queue of operations that wait for it. It is
// dialled again after a loss, unless the load has moved the place to another conn.
//
// Invariant: late <= open, and unsent is ordered by after.
type conn struct {
	place    int
	linked   bool // counted as a connection to its endpoint
	moved    bool // the place has a new connection; the operations open here drain
	movedAt  int64
	state    connState
	endpoint string // of the current or last connection
	want     string // endpoint of the next dial
	misled   bool   // connected to another endpoint than want
	codec    store.Codec
	open     int      // operations that the codec has, including late ones
	late     int      // operations that were given up and whose replies are awaited
	unsent   []unsent // operations that are submitted and not written, in the order of output
	wrote    uint64   // bytes written since it was dialled
	queue    []waiter // operations that wait for room, oldest first
	stalled  bool     // takes no operation, and no open operation could make room
	blocked  bool     // the socket's buffer is full
	dirty    bool     // listed in connections.dirty
	proven   bool     // a reply arrived since it was dialled
	member   uint64
	tick     int64 // when the codec wants to act next; 0: not known yet
	backoff  int64
	redialAt int64
	dials    uint64
	err      error // why the last attempt failed
}

// unsent is an operation of which nothing has been written. Its first byte follows the
// first `after` bytes of the connection.
type unsent struct {
	after uint64
	tag   uint32
	n     uint64 // identifies the operation, because the tag may have been reused
}

// waiter identifies a waiting operation. If the slot with the tag now has another number,
// the tag was reused and the operation has ended.
type waiter struct {
	tag uint32
	n   uint64
}

// leaving reports whether the connection takes no further operation and must be replaced.
func (c *conn) leaving() bool { return c.moved || c.misled || c.codec.Draining() }

// ready reports whether an operation can be submitted now.
func (c *conn) ready() bool {
	return c.state == up && !c.blocked && !c.leaving() && c.codec.Room() > 0
}

// muteReason returns the reason for giving up a connection that receives nothing; nil: keep it.
func (c *conn) muteReason() error {
	m, ok := c.codec.(store.SessionCodec)
	if !ok {
		return nil
	}
	why := m.Mute()
	if why != nil {
		why = fmt.Errorf("the load generator closed the connection to %s: %w", c.endpoint, why)
	}
	return why
}

// vacant reports whether a connection for a single operation can take one: it is not
// connected, and no operation waits for it.
func (c *conn) vacant() bool { return c.state == down && c.redialAt == never && len(c.queue) == 0 }

// endError describes the end of a connection that a read call found.
func (c *conn) endError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed the connection", c.endpoint)
	}
	return fmt.Errorf("the connection to %s ended: %w", c.endpoint, err)
}

// appendOutcomes appends the outcome of each operation on a lost connection.
func (c *conn) appendOutcomes(to []store.Event) []store.Event {
	text := c.err.Error()
	to = c.codec.Lost(to)
	for k := range to {
		if ev := &to[k]; ev.What == store.Done && len(ev.Text) == 0 {
			ev.Text = []byte(text)
		}
	}
	return to
}

// isReply reports whether an event was caused by a reply of the server.
func isReply(ev *store.Event) bool {
	return ev.Outcome != kv.NotSent && ev.Outcome != kv.ConnectionLost
}
