package engine

// Shared holds the work that all event loops of a load share, so that no figure depends on the
// number of event loops:
//   - the total of a closed loop: event loops take operation numbers from it in batches;
//   - the limit of operations in flight;
//   - operations of an open loop that are due and that their own event loop cannot start.
//
// In the steady state an event loop does not write to memory that another event loop uses.
type Shared struct {
	loops []*Loop // indexed by Config.Offset
	work  work
	limit limit
	spill spill

	warmup warmupState
}

// NewShared returns the state that the given number of event loops share. total is the number of
// operations in a closed loop's measurement window, or 0 if the window ends after a fixed time.
// maxInFlight limits the number of operations in flight in an open loop.
func NewShared(loops int, total uint64, maxInFlight int) *Shared {
	s := &Shared{loops: make([]*Loop, loops)}
	s.work.total, s.work.ended = total, make([]bool, loops)
	s.limit.init(loops, maxInFlight)
	s.spill.init(loops)
	return s
}

// hasSeveralLoops reports whether the load has more than one loop.
func (s *Shared) hasSeveralLoops() bool { return len(s.loops) > 1 }

// wake ends the wait of loop i.
func (s *Shared) wake(i int) {
	if l := s.loops[i]; l != nil {
		l.poller.Wake()
	}
}

// wakeOthers ends the wait of all loops except loop `self`.
func (s *Shared) wakeOthers(self int) {
	for i := range s.loops {
		if i != self {
			s.wake(i)
		}
	}
}
