package verdict

import "math"

// maxPausesEach is the maximum number of pauses of the longest observed length that one operation
// can encounter on a machine, in several processes one after the other.
const maxPausesEach = 3

// leastHit is the fraction of time below which the slowest operations are not adjusted.
const leastHit = 0.001

// missing is CPU time that members needed but did not get.
type missing struct {
	share float64 // fraction of the CPU time that they needed
	away  float64 // the largest possible fraction of the window during which CPU time was missing
	busy  float64 // fraction of the machine's CPU time that members used; 0 if unknown
	pause float64 // longest wait for a CPU on that machine, in nanoseconds; 0 if unknown
}

// slowed returns the largest possible effect of missing CPU time on operations.
//
// If a fraction x of the CPU time is missing, work takes 1/(1-x) times as long. An operation spends
// its time on its own CPU work or on waiting for other work. It may also have encountered a long
// pause; this is true for at most a fraction x of all operations. The undisturbed figure at
// quantile q is therefore at least the measured figure at q-x. No undisturbed figure is below the
// fastest operation, which lost only a part of its CPU time.
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
	if !f.OpenLoop { // the throughput of an open loop is that of its schedule
		mean := e.Times[MeanPlace]
		e.Throughput = mean / (1 + mean)
	}
	return e
}

// met returns the fraction by which a time is too high because a fraction of its operations
// encountered a pause.
func (m *missing) met(is, wouldBe, share float64) float64 {
	if m.pause > 0 {
		wouldBe = max(wouldBe, is-share*maxPausesEach*m.pause)
	}
	return excess(is, wouldBe)
}

// meanWithout returns the mean that results if each quantile q is replaced by the quantile q-x, as
// a fraction of the measured mean. It uses 50 quantiles.
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
