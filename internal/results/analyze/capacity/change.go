package capacity

import "math"

// A change is a sudden step in the capacity between two trials, for example because a member fails,
// a CPU limit takes effect, or a disk becomes full. If a single line were fitted to the trials
// before and after the change, it would give a capacity that the store never had.
const (
	// minChange is the smallest step in the logarithm of the capacity that counts as a change. A
	// smaller step is treated as a drift (estimateDrift).
	minChange = 0.15
	// certainChange is the evidence that proves a change: the improvement of the fit, as twice a
	// log-likelihood ratio, if two capacities replace one capacity that may drift. On simulated
	// stores whose capacity does not change suddenly, at most 1 % of the searches had more
	// evidence. If the improvement is at least possibleChange, a change is possible, and the
	// interval covers the capacities before and after it.
	certainChange  = 12
	possibleChange = 5
	// minTrials is the minimum number of trials near the capacity on each side of a change.
	minTrials = 2
	// maxPeriods is the maximum number of periods that end with a change, because the capacity of a
	// store may change all the time.
	maxPeriods  = 6
	changeSteps = 160
)

// endPeriodOnChange ends the current period if the capacity has certainly changed since the start
// of the period. The trials after the change then form the next period.
func (s *Search) endPeriodOnChange() {
	if pass, fail := s.bracket(); len(s.periods) >= maxPeriods || pass == 0 && !s.anyHeld() || math.IsInf(fail, 1) {
		return
	}
	n := s.findChange(certainChange)
	if n == 0 {
		return
	}
	next := s.Trials[n].StartTime - s.Trials[n].Warmup
	s.periods = append(s.periods, Period{From: s.start, To: next, Interval: s.estimateFrom(s.Trials[:n], s.start)})
	s.start, s.Trials = next, s.Trials[n:]
}

// estimateFrom returns the capacity that is estimated from the given trials only. The parameter
// `start` is the time at which the period of these trials starts.
func (s *Search) estimateFrom(trials []Trial, start float64) Interval {
	one := *s
	one.periods, one.Trials, one.start = nil, trials, start
	i := one.Estimate()
	if pass, _ := one.bracket(); pass > 0 && i.Closed() {
		i.include(one.estimateDrift().capacities)
	}
	return one.limitToEvidence(i)
}

// extendForPossibleChange extends the interval if the trials suggest that the capacity may have
// changed. The extended interval includes the capacities before and after the possible change.
func (s *Search) extendForPossibleChange(i *Interval) {
	n := s.findChange(possibleChange)
	if n == 0 {
		return
	}
	for _, part := range []Interval{s.estimateFrom(s.Trials[:n], s.start), s.estimateFrom(s.Trials[n:], s.Trials[n].StartTime)} {
		if part.Closed() {
			i.include(part)
		}
	}
}

// anyHeld reports whether the objective held in at least one trial.
func (s *Search) anyHeld() bool {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Holds(s.Goals) {
			return true
		}
	}
	return false
}

// findChange returns the index of the first trial after a change of the capacity. It returns 0 if
// the evidence for a change is less than `required`.
func (s *Search) findChange(required float64) (first int) {
	pass, fail := s.bracket()
	if pass == 0 {
		pass = fail / 8
	}
	low, high := s.capacityRange(pass, fail)
	most := 0.0
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed || len(points) < 2*minTrials+1 {
			continue
		}
		f := newFit(points, goal, low, high)
		found := f.change(low, high)
		if found.gain >= required { // a steady drift can look like a step
			if d, ok := s.fitDrift(f, low, high); ok {
				found.gain = min(found.gain, (d.best.deviance-found.deviance)/found.chance)
			}
		}
		if found.gain > most {
			most, first = found.gain, s.trialIndexAt(points[found.at].time)
		}
	}
	if most < required {
		return 0
	}
	return first
}

// trialIndexAt returns the index of the trial whose window has its middle at the given time.
func (s *Search) trialIndexAt(at float64) int {
	for i := range s.Trials {
		if t := &s.Trials[i]; t.StartTime+t.Length/2 == at {
			return i
		}
	}
	return 0
}

// step is a change of the capacity between two points. The field `at` is the index of the first
// point after the change, `deviance` is the deviance of the points from the two capacities, and
// `chance` is the deviance per point that chance causes. The field `gain` measures how much better
// two capacities fit than one, relative to `chance`.
type step struct {
	at                     int
	deviance, chance, gain float64
}

// change returns the change of the capacity that fits the points best. Its gain is 0 if there is no
// change.
func (f *fit) change(low, high float64) step {
	n, at := len(f.points), 0
	whole, two := math.Inf(1), math.Inf(1)
	// sums[i][c] is the deviance of the points before index i from a line with the c-th capacity
	sums := make([][changeSteps + 1]float64, n+1)
	for k := range slopes {
		for i := range n {
			for c := range changeSteps + 1 {
				x := low + (high-low)*float64(c)/changeSteps
				sums[i+1][c] = sums[i][c] + f.distanceAbove(i, slopeAt[k]*(f.points[i].x-x), k)
			}
		}
		_, one := smallestDifference(&sums[0], &sums[n])
		whole = math.Min(whole, one)
		for i := minTrials; i <= n-minTrials; i++ {
			before, a := smallestDifference(&sums[0], &sums[i])
			after, b := smallestDifference(&sums[i], &sums[n])
			if math.Abs(before-after)*(high-low)/changeSteps >= minChange && a+b < two {
				at, two = i, a+b
			}
		}
	}
	if at == 0 {
		return step{}
	}
	const known = 4 // see devianceRatio
	chance := math.Max(1, (two+known)/(math.Max(float64(n)-4, 0)+known))
	return step{at: at, deviance: two, chance: chance, gain: (whole - two) / chance}
}

// smallestDifference returns the index at which `to` minus `from` is smallest, and this difference.
func smallestDifference(from, to *[changeSteps + 1]float64) (at, least float64) {
	least = math.Inf(1)
	for c := range to {
		if d := to[c] - from[c]; d < least {
			at, least = float64(c), d
		}
	}
	return at, least
}
