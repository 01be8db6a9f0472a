package engine

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

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

// ended notes the end of a client's operation, and returns for how long the client
// rests, in nanoseconds.
func (l *Loop) ended(sl *slot, outcome kv.Outcome, at int64) int64 {
	if l.cfg.Fine && !outcome.Failed() {
		l.waited(sl.client, at)
		l.closed.clients[sl.client].succeeded = at
	}
	return l.closed.rests.after(sl, outcome, at, l.cfg.Timeout)
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
