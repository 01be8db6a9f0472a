package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// clockwork is the time's side of a load: which phase and second it is now.
type clockwork struct {
	phases  []Phase
	at      int   // phase; len(phases) when all have ended
	origin  int64 // when the phase began
	index   int   // of the second in it
	end     int64 // of the phase; never while a total bounds it
	next    int64 // the next boundary
	current *second
}

func (c *clockwork) phase() *Phase { return &c.phases[c.at] }

// completed counts a success in the second in which it was done.
func (c *clockwork) completed(kind kv.Kind, at int64) {
	s := c.current
	if s == nil {
		return
	}
	s.Done++
	s.DoneKinds[kind]++
	ms := min(max((at-s.start)/millisecond, 0), 999)
	s.Alive[ms>>6] |= 1 << (ms & 63)
}

// fine notes how an operation ended within the second.
func (c *clockwork) fine(series *measure.Series, o kv.Outcome, at int64) {
	s := c.current
	if s == nil {
		return
	}
	s.fine().Note(series, o, at-s.start)
}
