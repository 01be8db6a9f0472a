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
	// ending means one of two things: the connection was lost and its operations are receiving
	// their outcomes, or the connection was for a single operation and waits for its session to
	// end. The place is not dialed in this state.
	ending
)

// conn is the connection of a place, together with the queue of operations that wait for it. A lost
// connection is dialed again, unless the load has moved the place to another conn.
//
// Invariant: late <= open, and unsent is ordered by unsent.offset.
type conn struct {
	place         int
	linked        bool // counted in connections.links as a connection to its endpoint
	moved         bool // the place has a new connection; this one only waits for its open operations
	movedAt       int64
	state         connState
	endpoint      string // endpoint of the current connection or, if there is none, of the last one
	nextEndpoint  string // endpoint of the next dial
	wrongEndpoint bool   // the connection goes to an endpoint other than nextEndpoint
	codec         store.Codec
	open          int      // number of operations that the codec still tracks, including late ones
	late          int      // number of operations that were given up but whose replies may still arrive
	unsent        []unsent // operations that were submitted but not written, in output order
	bytesWritten  uint64   // number of bytes written since the connection was dialed
	queue         []waiter // operations that wait for room on the connection, oldest first
	stalled       bool     // accepts no operation, although no operation is open on it
	blocked       bool     // the socket's buffer is full
	dirty         bool     // listed in connections.dirty
	hasReplied    bool     // a reply arrived since the connection was dialed
	member        uint64
	tick          int64 // when the codec's Tick is due; 0: not known yet
	backoff       int64
	redialAt      int64
	dials         uint64
	err           error // why the last dial or connection failed
}

// unsent is an operation that was encoded but not written. The field `offset` is the number of
// bytes of the connection's output that precede the operation's first byte.
type unsent struct {
	offset uint64
	tag    uint32
	n      uint64 // identifies the operation, because the tag may have been reused
}

// waiter identifies a waiting operation by tag and number. If the slot with this tag now has a
// different number, the operation has ended and its tag was reused.
type waiter struct {
	tag uint32
	n   uint64
}

// leaving reports whether the connection must be replaced and therefore accepts no more operations.
func (c *conn) leaving() bool { return c.moved || c.wrongEndpoint || c.codec.Draining() }

// ready reports whether an operation can be submitted now.
func (c *conn) ready() bool {
	return c.state == up && !c.blocked && !c.leaving() && c.codec.Room() > 0
}

// muteReason returns an error if the connection must be closed because it receives no data, and nil
// otherwise.
func (c *conn) muteReason() error {
	m, ok := c.codec.(store.SessionCodec)
	if !ok {
		return nil
	}
	why := m.CheckAlive()
	if why != nil {
		why = fmt.Errorf("the load generator closed the connection to %s: %w", c.endpoint, why)
	}
	return why
}

// vacant reports whether a place with single-operation connections is free: the place is not
// connected, and no operation waits for it.
func (c *conn) vacant() bool { return c.state == down && c.redialAt == never && len(c.queue) == 0 }

// endError returns the error to report for a connection on which a read call returned err.
func (c *conn) endError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed the connection", c.endpoint)
	}
	return fmt.Errorf("the connection to %s ended: %w", c.endpoint, err)
}

// appendOutcomes appends the outcome of each operation on a lost connection.
func (c *conn) appendOutcomes(events []store.Event) []store.Event {
	text := c.err.Error()
	events = c.codec.Lost(events)
	for k := range events {
		if ev := &events[k]; ev.Type == store.OperationDone && len(ev.Text) == 0 {
			ev.Text = []byte(text)
		}
	}
	return events
}

// isReply reports whether an event was caused by a reply from the server.
func isReply(ev *store.Event) bool {
	return ev.Outcome != kv.NotSent && ev.Outcome != kv.ConnectionLost
}
