package engine

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// closedLoop counts a closed loop's operations.
type closedLoop struct {
	n        uint64  // of the next operation in this phase, without a total
	bounded  bool    // a total bounds the phase
	batch    span    // of the total's numbers: this loop's, not begun
	inWindow int     // measured operations that are open
	lastAt   int64   // when the last of them ended
	without  []int32 // clients for which there was no number left
	asking   []int32 // the same, while they ask again
	rests    rests
	clients  []client
	opened   []string // by place: the endpoint that it had all the window; empty if it moved
}

// client is a client of a closed loop. What is counted lies beside what its next
// operation needs, so that counting touches no other memory.
type client struct {
	place     int
	completed uint64 // of its operations due in the window
	succeeded int64  // when its last success was, or it began; of a load with faults
}

// begin makes a client's next operation, due now.
func (l *Loop) begin(client int32, due int64) {
	if l.draining {
		return
	}
	n, ok := l.next()
	if !ok {
		l.closed.without = append(l.closed.without, client)
		return
	}
	acc := l.clock.current
	tag := l.slots.take()
	sl := &l.slots.table[tag]
	i := l.conns.places[l.closed.clients[client].place]
	*sl = slot{}
	sl.due, sl.n, sl.acc, sl.conn, sl.client = due, n, acc, int32(i), client
	sl.state, sl.measured = waiting, l.measuring
	acc.Due++
	acc.open++
	if sl.measured {
		l.closed.inWindow++
	}
	l.slots.link(tag, due)
	c := l.conns.table[i]
	if len(c.queue) == 0 && c.ready() && !l.cfg.NewConnection {
		l.submit(i, tag)
		return
	}
	c.queue = append(c.queue, waiter{tag, n})
	if l.cfg.NewConnection {
		l.conns.come(i, l.now)
	}
	sl.queued = sl.sent == 0
}

// open notes where the window finds the places.
func (c *closedLoop) open(cs *connections) {
	c.opened = make([]string, len(cs.places))
	for place, i := range cs.places {
		c.opened[place] = cs.table[i].want
	}
}

// connections is what the window's clients completed, by place; nil if the
// window did not open, or there are no clients.
func (c *closedLoop) connections() []measure.Connection {
	if c.opened == nil || len(c.clients) == 0 {
		return nil
	}
	all := make([]measure.Connection, len(c.opened))
	for place, endpoint := range c.opened {
		all[place].Endpoint = endpoint
	}
	for _, one := range c.clients {
		all[one.place].Completed = append(all[one.place].Completed, one.completed)
	}
	return slices.DeleteFunc(all, func(one measure.Connection) bool { return len(one.Completed) == 0 })
}

// noteSuccess counts an operation for its client, and notes until when that had no success.
func (l *Loop) noteSuccess(sl *slot, at int64) {
	c := &l.closed.clients[sl.client]
	if sl.measured {
		c.completed++
	}
	if l.cfg.Fine {
		l.waited(sl.client, at)
		c.succeeded = at
	}
}

// waited notes for how long a client had no success, until now.
func (l *Loop) waited(client int32, at int64) {
	s, length := l.clock.current, at-l.closed.clients[client].succeeded
	if length < measure.LeastWait*1_000_000 || s == nil {
		return
	}
	number := (uint64(client)*l.cfg.Stride+l.cfg.Offset)*l.cfg.Shards + l.cfg.Shard
	s.fine().Waited(uint32(number), length, at-s.start) // #nosec G115 -- there are not so many clients
}
