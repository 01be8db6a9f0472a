package measure

// LiveSteps counts the times of a second while it runs, one by one. Recording into it takes
// a fourth of the instructions that a Histogram takes; Histograms get its counts all at once
// when the second is settled.
type LiveSteps struct {
	counts [NumSteps]uint32
	total  uint32
	into   [2]**Histogram // the places of the histograms that get the counts
}

// Record adds one value, and counts it where the function Record counts it.
func (l *LiveSteps) Record(ns int64) {
	if uint64(ns) > Highest {
		ns = inRange(ns)
	}
	if at := stepNumber(ns); uint(at) < NumSteps {
		l.counts[at]++
		l.total++
	}
}

// settle adds the counts to the histograms, and makes the steps empty.
func (l *LiveSteps) settle(fresh func() *Histogram) {
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
				_ = (*place).RecordValues(StepAt(at), int64(n)) // there is a place for every step
			}
		}
		l.counts[at] = 0
		l.total -= n
	}
	l.into = [2]**Histogram{}
}

// mostSpareSteps is how many LiveSteps a loop keeps for its next seconds.
const mostSpareSteps = 64

// LivePool makes the LiveSteps of one loop, and takes them back when their second is settled,
// which another goroutine does.
type LivePool struct {
	fresh func() *Histogram
	spare chan *LiveSteps
}

// NewLivePool returns a pool whose steps end in histograms that fresh returns, which is called
// from the goroutine that settles a second.
func NewLivePool(fresh func() *Histogram) *LivePool {
	return &LivePool{fresh: fresh, spare: make(chan *LiveSteps, mostSpareSteps)}
}

// Begin returns empty steps whose counts are added to a histogram of the second when it is
// settled, and to another one unless that is nil.
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

// Settle adds what LiveSteps counted to the second's histograms. A Collector settles each
// second that it is given.
func (s *Second) Settle() {
	for _, l := range s.live {
		l.settle(s.pool.fresh)
		select {
		case s.pool.spare <- l:
		default:
		}
	}
	s.live = nil
}
