package measure

// LiveSteps counts times during the current second. To record a time, it needs a quarter of the
// instructions that a Histogram needs. After the end of the second, Second.FlushLive adds the
// counts to Histograms.
type LiveSteps struct {
	counts  [NumSteps]uint32
	total   uint32
	targets [2]**Histogram // pointers to the histograms to which the counts will be added
}

// Record counts one measured time, in nanoseconds, in the same step as the function Record does.
func (l *LiveSteps) Record(ns int64) {
	if uint64(ns) > Highest {
		ns = inRange(ns)
	}
	if at := stepNumber(ns); uint(at) < NumSteps {
		l.counts[at]++
		l.total++
	}
}

// addToHistograms adds the counts to the histograms, and clears the counts.
func (l *LiveSteps) addToHistograms(fresh func() *Histogram) {
	for _, place := range l.targets {
		if place != nil && *place == nil {
			*place = fresh()
		}
	}
	for at := 0; l.total > 0; at++ {
		n := l.counts[at]
		if n == 0 {
			continue
		}
		for _, place := range l.targets {
			if place != nil {
				// cannot fail, because the histogram has every step
				_ = (*place).RecordValues(StepStart(at), int64(n))
			}
		}
		l.counts[at] = 0
		l.total -= n
	}
	l.targets = [2]**Histogram{}
}

// maxSpareSteps is the maximum number of LiveSteps that a loop keeps for later seconds.
const maxSpareSteps = 64

// LivePool allocates the LiveSteps for one loop. When another goroutine calls Second.FlushLive, the
// LiveSteps of that second return to the pool.
type LivePool struct {
	newHistogram func() *Histogram
	spare        chan *LiveSteps
}

// NewLivePool returns a pool. Second.FlushLive calls `fresh` if a second needs a histogram that
// does not exist yet.
func NewLivePool(fresh func() *Histogram) *LivePool {
	return &LivePool{newHistogram: fresh, spare: make(chan *LiveSteps, maxSpareSteps)}
}

// NewSteps returns empty LiveSteps for a second. Second.FlushLive adds the counts to the histogram
// to which `target` points. If `secondTarget` is not nil, FlushLive also adds them to the histogram
// to which `secondTarget` points.
func (p *LivePool) NewSteps(s *Second, target, secondTarget **Histogram) *LiveSteps {
	var l *LiveSteps
	select {
	case l = <-p.spare:
	default:
		l = &LiveSteps{}
	}
	l.targets = [2]**Histogram{target, secondTarget}
	s.live, s.pool = append(s.live, l), p
	return l
}

// FlushLive adds the counts in the second's LiveSteps to the second's histograms. A Collector calls
// FlushLive for each second that it receives.
func (s *Second) FlushLive() {
	for _, l := range s.live {
		l.addToHistograms(s.pool.newHistogram)
		select {
		case s.pool.spare <- l:
		default:
		}
	}
	s.live = nil
}
