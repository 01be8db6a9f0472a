package engine

import (
	"slices"

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
