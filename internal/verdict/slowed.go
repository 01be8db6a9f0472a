package verdict

import "math"

// maxPausesEach is how many pauses of the longest observed length one operation can meet on a
// machine, in several processes one after the other.
const maxPausesEach = 3

// leastHit is the share of time below which the slowest operations are not adjusted.
const leastHit = 0.001

// missing is CPU time that members needed and did not get.
type missing struct {
	share float64 // of the CPU time that they needed
	away  float64 // the largest possible share of the window in which it was missing
	busy  float64 // the share of the machine's CPU time that members used; 0: unknown
	pause float64 // the longest wait for a CPU on that machine, in nanoseconds; 0: unknown
}

// slowed returns the largest possible effect of missing CPU time on operations.
//
// Work takes 1/(1-x) times as long if the share x is missing. An operation works for its own
// CPU time, or waits for the work of others. It may also have met a long pause: at most the
// share x of all operations did, so the undisturbed figure at quantile q is at least the
// measured one at q-x. No undisturbed figure is below the fastest operation, which lost only
// a part of its CPU time.
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

// met returns by which share a time is too high because a share of its operations met a pause.
func (m *missing) met(is, wouldBe, share float64) float64 {
	if m.pause > 0 {
		wouldBe = max(wouldBe, is-share*maxPausesEach*m.pause)
	}
	return excess(is, wouldBe)
}

// meanWithout returns the mean with each quantile q replaced by q-x, as a share of the measured
// mean, from 50 quantiles.
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
