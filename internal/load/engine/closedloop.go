package engine

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// closedLoop tracks the clients of a closed loop and the numbers of their operations.
//
// Invariant: while the load runs, each client has one open operation, or rests (rests), or has
// found no operation number left (idle).
type closedLoop struct {
	n        uint64  // phase without a total: number of the next operation
	bounded  bool    // the phase has a total: it ends after a given number of operations
	batch    span    // operation numbers that this loop has taken from the total but not started
	inWindow int     // open operations that are due in the window
	lastAt   int64   // when the last of these operations ended
	idle     []int32 // clients that found no operation number left
	asking   []int32 // copy of idle, used while these clients request numbers again
	rests    rests
	clients  []client
	opened   []string // by place: the endpoint when the window opened; empty if the place has moved since
}

// client is a client of a closed loop. The counters are next to `place`, which the loop reads
// whenever it starts the client's next operation. So counting touches no other cache line.
type client struct {
	place     int
	completed uint64 // number of operations that were due in the window and completed
	succeeded int64  // time of the client's last success, or of its start; used only with Config.Fine
}

// startNext starts a client's next operation, which is due at the time `due`.
func (l *Loop) startNext(client int32, due int64) {
	if l.draining {
		return
	}
	n, ok := l.nextNumber()
	if !ok {
		l.closed.idle = append(l.closed.idle, client)
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
		l.conns.dialIfVacant(i, l.now)
	}
	sl.queued = sl.sent == 0
}

// noteEndpoints records the endpoints of all places when the window opens.
func (c *closedLoop) noteEndpoints(cs *connections) {
	c.opened = make([]string, len(cs.places))
	for place, i := range cs.places {
		c.opened[place] = cs.table[i].want
	}
}

// connections returns one element for each place that has clients. The element contains the number
// of operations that each of these clients completed in the window. connections returns nil if the
// window did not open or the load has no clients.
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

// noteSuccess counts a successful operation for its client, and records how long the client had to
// wait for a success.
func (l *Loop) noteSuccess(sl *slot, at int64) {
	c := &l.closed.clients[sl.client]
	if sl.measured {
		c.completed++
	}
	if l.cfg.Fine {
		l.noteWait(sl.client, at)
		c.succeeded = at
	}
}

// noteWait records the time since a client's last success, if that time is at least
// measure.LeastWait.
func (l *Loop) noteWait(client int32, at int64) {
	s, length := l.clock.current, at-l.closed.clients[client].succeeded
	if length < measure.LeastWait*1_000_000 || s == nil {
		return
	}
	number := (uint64(client)*l.cfg.Stride+l.cfg.Offset)*l.cfg.Shards + l.cfg.Shard
	s.fine().Waited(uint32(number), length, at-s.start) // #nosec G115 -- client numbers are far below 2^32
}
