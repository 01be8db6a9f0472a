package engine

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// closedLoop tracks the clients of a closed loop and the numbers of their operations.
//
// Invariant: while the load runs, each client has one open operation, or rests (see rests), or has
// found no operation number left (see idleClients).
type closedLoop struct {
	n               uint64  // phase without a total: number of the next operation
	hasTotal        bool    // the phase has a total: it ends after a given number of operations
	batch           span    // operation numbers that this loop has taken from the total but not started
	openInWindow    int     // open operations that are due in the window
	lastEnd         int64   // when the last of these operations ended
	idleClients     []int32 // clients that found no operation number left
	retryingClients []int32 // copy of idleClients, used while these clients request numbers again
	rests           rests
	clients         []client
	windowEndpoints []string // by place: the endpoint when the window opened; empty if the place has moved since
}

// client is a client of a closed loop. The counters are next to `place`, which the event loop reads
// whenever it starts the client's next operation. So counting touches no other cache line.
type client struct {
	place     int
	completed uint64 // number of operations that were due in the window and completed
	succeeded int64  // time of the client's last success, or of its start; used only with Config.RecordSlotDetail
}

// startNext starts a client's next operation, which is due at the time `due`.
func (l *Loop) startNext(client int32, due int64) {
	if l.draining {
		return
	}
	n, ok := l.nextNumber()
	if !ok {
		l.closed.idleClients = append(l.closed.idleClients, client)
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
		l.closed.openInWindow++
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
	c.windowEndpoints = make([]string, len(cs.places))
	for place, i := range cs.places {
		c.windowEndpoints[place] = cs.table[i].nextEndpoint
	}
}

// connections returns one element for each place that has clients. The element contains the number
// of operations that each of these clients completed in the window. connections returns nil if the
// window did not open or the load has no clients.
func (c *closedLoop) connections() []measure.Connection {
	if c.windowEndpoints == nil || len(c.clients) == 0 {
		return nil
	}
	all := make([]measure.Connection, len(c.windowEndpoints))
	for place, endpoint := range c.windowEndpoints {
		all[place].Endpoint = endpoint
	}
	for _, client := range c.clients {
		all[client.place].Completed = append(all[client.place].Completed, client.completed)
	}
	return slices.DeleteFunc(all, func(connection measure.Connection) bool { return len(connection.Completed) == 0 })
}

// noteSuccess counts a successful operation for its client, and records how long the client had to
// wait for a success.
func (l *Loop) noteSuccess(sl *slot, at int64) {
	c := &l.closed.clients[sl.client]
	if sl.measured {
		c.completed++
	}
	if l.cfg.RecordSlotDetail {
		l.noteWait(sl.client, at)
		c.succeeded = at
	}
}

// noteWait records the time since a client's last success, if that time is at least
// measure.MinWait.
func (l *Loop) noteWait(client int32, at int64) {
	s, length := l.clock.current, at-l.closed.clients[client].succeeded
	if length < measure.MinWait*1_000_000 || s == nil {
		return
	}
	s.slotDetail().AddWait(l.sched.globalNumber(uint32(client)), length, at-s.start)
}
