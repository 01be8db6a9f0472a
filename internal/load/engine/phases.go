package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// clockwork tracks the current phase and second of a load.
//
// Invariant: origin <= current.start < nextBoundary <= phaseEnd while a second is open.
type clockwork struct {
	phases       []Phase
	phaseIndex   int     // index of the current phase
	origin       int64   // start of the phase
	index        int     // index of the current second within the phase
	phaseEnd     int64   // end of the phase; never if it ends after a given number of operations
	nextBoundary int64   // next boundary: the end of the second or of the phase
	current      *second // nil before and after the load
}

func (c *clockwork) phase() *Phase { return &c.phases[c.phaseIndex] }

// countCompletion counts a success in the current second, in which the operation completed.
func (c *clockwork) countCompletion(kind kv.Kind, at int64) {
	s := c.current
	if s == nil {
		return
	}
	s.Done++
	s.DoneKinds[kind]++
	s.Alive.Add(at - s.start)
}

// recordSlotSuccess records the time of a success within the current second.
func (c *clockwork) recordSlotSuccess(series *measure.Series, at int64) {
	if s := c.current; s != nil {
		s.slotDetail().CountSuccess(series, at-s.start)
	}
}
