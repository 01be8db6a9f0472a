package engine

// Shared is the work that belongs to all loops of a load, so that no figure
// depends on how many they are: a closed loop's total, of which a loop takes a
// batch when it has used up the one before; the limit of operations in flight;
// and what is due in an open loop and cannot be taken up by the loop that it
// belongs to. In the steady state a loop touches none of what the others touch.
type Shared struct {
	loops []*Loop // by Config.Offset
	work  work
	limit limit
	spill spill

	warming warming
}

// NewShared returns what so many loops share: total operations of the measured
// window of a closed loop (0: as many as its duration holds), and the most
// operations of an open loop in flight.
func NewShared(loops int, total uint64, maxInFlight int) *Shared {
	s := &Shared{loops: make([]*Loop, loops)}
	s.work.total, s.work.ended = total, make([]bool, loops)
	s.limit.init(loops, maxInFlight)
	s.spill.init(loops)
	return s
}

// several reports whether there is more than one loop to share with.
func (s *Shared) several() bool { return len(s.loops) > 1 }

// wake ends the wait of a loop.
func (s *Shared) wake(i int) {
	if l := s.loops[i]; l != nil {
		l.poller.Wake()
	}
}

// wakeOthers ends the wait of all loops but one.
func (s *Shared) wakeOthers(me int) {
	for i := range s.loops {
		if i != me {
			s.wake(i)
		}
	}
}
