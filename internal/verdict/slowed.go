package verdict

import "math"

// pausesOfOne is how many times the longest pause that was seen on a machine one
// operation waits there for a processor, at most: in several processes, one after the
// other.
const pausesOfOne = 3

// leastHit is the share of time below which nothing is said of the slowest operations.
const leastHit = 0.001

// missing is processor time that members wanted and did not have.
type missing struct {
	share float64 // of what they wanted
	away  float64 // in which share of the time it can have been so
	busy  float64 // the share of the machine's processor time that members used; 0: unknown
	pause float64 // the longest time that somebody waited there for a processor, in nanoseconds; 0: unknown
}

// slowed is the effect on the operations of members that did not get a share of the
// processor time that they wanted, at most.
//
// An operation at work takes 1/(1-x) times as long for the share x, and it is at work for
// its processor time, or waits for others' at work: for its part of the time in which
// members were. Beyond that it may have met what took the processor for long: with the
// share x of all operations at most, the figure at q would be at least what was measured
// at q-x. And no figure would be below the fastest operation, which lost nothing but a
// part of its own processor time.
func (f *Figures) slowed(m missing) (e Effect) {
	x := min(m.share, m.away, 1)
	if x <= 0 {
		return e
	}
	factor := x / math.Max(1-x, 0.01)
	times, floor := ofSummary(&f.Headline), 0.0
	if own := f.OperationCPUNS; own > 0 {
		floor = max(times[0]-min(own, times[0])*x, 0)
	}
	quantiles := Quantiles()
	for i, is := range times {
		work := 1.0
		if f.OperationCPUNS > 0 && is > 0 {
			work = min(max(f.OperationCPUNS/is, m.busy), 1)
		}
		by := factor * work
		switch {
		case x < leastHit || f.Quantile == nil || is <= 0:
		case i == MeanPlace:
			by += (1 + by) * m.met(is, is*f.meanWithout(x), x)
		case i > 0 && i < len(quantiles):
			by += (1 + by) * m.met(is, f.Quantile(max(quantiles[i]-100*x, 0)), 1)
		}
		if is > 0 && floor > 0 {
			by = min(by, excess(is, floor))
		}
		e.Times[i] = by
	}
	if !f.OpenLoop { // an open loop's throughput is that of its schedule
		mean := e.Times[MeanPlace]
		e.Throughput = mean / (1 + mean)
	}
	return e
}

// met is how much too high a time is that would be another one, but for the share of its
// operations that met what took the processor.
func (m *missing) met(is, wouldBe, share float64) float64 {
	if m.pause > 0 {
		wouldBe = max(wouldBe, is-share*pausesOfOne*m.pause)
	}
	return excess(is, wouldBe)
}

// meanWithout is the mean, as a share of what it is, if each quantile q were what is at
// q-x: from 50 quantiles.
func (f *Figures) meanWithout(x float64) float64 {
	is, wouldBe := 0.0, 0.0
	for p := 1.0; p < 100; p += 2 {
		if at := f.Quantile(p); at > 0 {
			is, wouldBe = is+at, wouldBe+f.Quantile(max(p-100*x, 0))
		}
	}
	if is <= 0 {
		return 1
	}
	return wouldBe / is
}
