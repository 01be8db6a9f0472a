package capacity

import "math"

// A change is a step in the capacity between two trials: a member is lost, a CPU limit takes
// effect, a disk becomes full. A line through the trials of both periods has a capacity that
// never existed.
const (
	// leastChange is the smallest change of a capacity, as a logarithm. A slower drift is a
	// movement.
	leastChange = 0.15
	// surelyChanged is the improvement of two lines over one, as twice a log-likelihood ratio, that
	// proves a change. Of simulated stores that do not change, including ones that drift and ones
	// that pause now and then, none had more than 10. At maybeChanged or more a change is not
	// excluded, and the interval covers both capacities.
	surelyChanged = 12
	maybeChanged  = 5
	// leastTrials is the number of trials near the capacity that are needed before a change, and
	// after it.
	leastTrials = 2
	// mostPeriods limits the periods of a store that changes all the time.
	mostPeriods = 6
	changeSteps = 160
)

// split ends the current period if the capacity has certainly changed since its start, and
// starts the next one with the trials since the change.
func (s *Search) split() {
	if pass, fail := s.bracket(); len(s.periods) >= mostPeriods || pass == 0 && !s.anyHeld() || math.IsInf(fail, 1) {
		return
	}
	n := s.changed(surelyChanged)
	if n == 0 {
		return
	}
	next := s.Trials[n].Began - s.Trials[n].Warmup
	s.periods = append(s.periods, Period{From: s.start, To: next, Interval: s.during(s.Trials[:n], s.start)})
	s.start, s.Trials = next, s.Trials[n:]
}

// during returns the capacity estimated from some of the trials only, which start at a time.
func (s *Search) during(trials []Trial, start float64) Interval {
	one := *s
	one.periods, one.Trials, one.start = nil, trials, start
	i := one.Estimate()
	if pass, _ := one.bracket(); pass > 0 && i.Closed() {
		i.include(one.moved().all)
	}
	return one.supported(i)
}

// mayHaveChanged extends an interval to the capacities before and after a change that the trials do
// not exclude.
func (s *Search) mayHaveChanged(i *Interval) {
	n := s.changed(maybeChanged)
	if n == 0 {
		return
	}
	for _, part := range []Interval{s.during(s.Trials[:n], s.start), s.during(s.Trials[n:], s.Trials[n].Began)} {
		if part.Closed() {
			i.include(part)
		}
	}
}

// anyHeld reports whether any trial held.
func (s *Search) anyHeld() bool {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Holds(s.Goals) {
			return true
		}
	}
	return false
}

// changed returns the index of the first trial since the capacity changed, if the evidence reaches
// surely; 0 if it does not.
func (s *Search) changed(surely float64) (first int) {
	pass, fail := s.bracket()
	if pass == 0 {
		pass = fail / 8
	}
	low, high := s.around(pass, fail)
	most := 0.0
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed || len(points) < 2*leastTrials+1 {
			continue
		}
		f := newFit(points, goal, low, high)
		if at, gain := f.change(low, high); gain > most {
			most, first = gain, s.placeOf(points[at].at)
		}
	}
	if most < surely {
		return 0
	}
	return first
}

// placeOf returns the index of the trial whose window has its middle at a time.
func (s *Search) placeOf(at float64) int {
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Began+t.Length/2 == at {
			return i
		}
	}
	return 0
}

// change finds the point after which a different capacity fits the points best, and how much
// better two capacities fit than one, beyond chance.
func (f *fit) change(low, high float64) (at int, gain float64) {
	n := len(f.points)
	whole, best := math.Inf(1), math.Inf(1)
	sums := make([][changeSteps + 1]float64, n+1) // over the points before an index, by capacity
	for k := range slopes {
		for i := range n {
			for c := range changeSteps + 1 {
				x := low + (high-low)*float64(c)/changeSteps
				sums[i+1][c] = sums[i][c] + f.far(i, slopeAt[k]*(f.points[i].x-x), k)
			}
		}
		_, one := leastOf(&sums[0], &sums[n])
		whole = math.Min(whole, one)
		for i := leastTrials; i <= n-leastTrials; i++ {
			before, a := leastOf(&sums[0], &sums[i])
			after, b := leastOf(&sums[i], &sums[n])
			if math.Abs(before-after)*(high-low)/changeSteps >= leastChange && a+b < best {
				at, best = i, a+b
			}
		}
	}
	if at == 0 {
		return 0, 0
	}
	const known = 4 // as in excess
	chance := math.Max(1, (best+known)/(math.Max(float64(n)-4, 0)+known))
	return at, (whole - best) / chance
}

// leastOf returns the index of the smallest difference of two sums, and the difference.
func leastOf(from, to *[changeSteps + 1]float64) (at, least float64) {
	least = math.Inf(1)
	for c := range to {
		if d := to[c] - from[c]; d < least {
			at, least = float64(c), d
		}
	}
	return at, least
}
