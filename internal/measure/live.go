package measure

// LiveSteps counts times while a second runs. Recording a time takes a quarter of the
// instructions that a Histogram needs. The counts are added to Histograms when the second
// is settled.
type LiveSteps struct {
	counts [NumSteps]uint32
	total  uint32
	into   [2]**Histogram // locations of the histograms that receive the counts
}

// Record adds one value, in the same step as the function Record.
func (l *LiveSteps) Record(ns int64) {
	if uint64(ns) > Highest {
		ns = inRange(ns)
	}
	if at := stepNumber(ns); uint(at) < NumSteps {
		l.counts[at]++
		l.total++
	}
}

// addToHistograms adds the counts to the histograms and clears them.
func (l *LiveSteps) addToHistograms(fresh func() *Histogram) {
	for _, place := range l.into {
		if place != nil && *place == nil {
			*place = fresh()
		}
	}
	for at := 0; l.total > 0; at++ {
		n := l.counts[at]
		if n == 0 {
			continue
		}
		for _, place := range l.into {
			if place != nil {
				_ = (*place).RecordValues(StepAt(at), int64(n)) // cannot fail: the histogram has every step
			}
		}
		l.counts[at] = 0
		l.total -= n
	}
	l.into = [2]**Histogram{}
}

// mostSpareSteps is the number of LiveSteps that a loop keeps for its next seconds.
const mostSpareSteps = 64

// LivePool creates the LiveSteps of one loop. Another goroutine returns them when it settles
// their second.
type LivePool struct {
	fresh func() *Histogram
	spare chan *LiveSteps
}

// NewLivePool returns a pool. Settle calls fresh for a histogram when a second has none yet.
func NewLivePool(fresh func() *Histogram) *LivePool {
	return &LivePool{fresh: fresh, spare: make(chan *LiveSteps, mostSpareSteps)}
}

// Begin returns empty LiveSteps for a second. When the second is settled, the counts are added
// to the histogram into, and also to another unless that is nil.
func (p *LivePool) Begin(s *Second, into, another **Histogram) *LiveSteps {
	var l *LiveSteps
	select {
	case l = <-p.spare:
	default:
		l = &LiveSteps{}
	}
	l.into = [2]**Histogram{into, another}
	s.live, s.pool = append(s.live, l), p
	return l
}

// Settle adds the counts of LiveSteps to the second's histograms. A Collector settles each
// second that it receives.
func (s *Second) Settle() {
	for _, l := range s.live {
		l.addToHistograms(s.pool.fresh)
		select {
		case s.pool.spare <- l:
		default:
		}
	}
	s.live = nil
}
