package engine

// Shared holds the work that all loops of a load share, so that no figure depends
// on the number of loops:
//   - the total of a closed loop, from which a loop takes numbers in batches;
//   - the limit of operations in flight;
//   - operations of an open loop that are due and that their own loop cannot start.
//
// In the steady state a loop writes to none of the memory that another loop uses.
type Shared struct {
	loops []*Loop // indexed by Config.Offset
	work  work
	limit limit
	spill spill

	warming warming
}

// NewShared returns the shared state of the given number of loops. total is the number
// of operations in the measurement window of a closed loop, or 0 if the duration ends
// it. maxInFlight limits the operations of an open loop in flight.
func NewShared(loops int, total uint64, maxInFlight int) *Shared {
	s := &Shared{loops: make([]*Loop, loops)}
	s.work.total, s.work.ended = total, make([]bool, loops)
	s.limit.init(loops, maxInFlight)
	s.spill.init(loops)
	return s
}

// several reports whether the load has more than one loop.
func (s *Shared) several() bool { return len(s.loops) > 1 }

// wake ends the wait of loop i.
func (s *Shared) wake(i int) {
	if l := s.loops[i]; l != nil {
		l.poller.Wake()
	}
}

// wakeOthers ends the wait of all loops except one.
func (s *Shared) wakeOthers(me int) {
	for i := range s.loops {
		if i != me {
			s.wake(i)
		}
	}
}
