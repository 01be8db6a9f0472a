package verdict

import "math"

// maxPausesPerOperation is the maximum number of pauses that one operation can encounter on a
// machine, because an operation may wait in several processes one after the other. Each pause is at
// most as long as the longest observed pause.
const maxPausesPerOperation = 3

// minMissingShare is a limit for the fraction of CPU time that is missing. Below this limit,
// missingCPUEffect does not assume that operations encountered pauses.
const minMissingShare = 0.001

// missingCPU is CPU time that members needed but did not get.
type missingCPU struct {
	share        float64 // fraction of the CPU time that the members needed
	windowShare  float64 // upper bound for the fraction of the window during which CPU time was missing
	membersBusy  float64 // fraction of the machine's CPU time that members used; 0 if unknown
	longestPause float64 // longest wait for a CPU on the members' machine, in nanoseconds; 0 if unknown
}

// missingCPUEffect returns the largest possible effect of missing CPU time on operations.
//
// If a fraction x of the CPU time is missing, work takes 1/(1-x) times as long. An operation spends
// its time on its own CPU work or on waiting for other work. At most a fraction x of all operations
// also encountered a long pause. The undisturbed figure at quantile q is therefore at least the
// measured figure at quantile q-x. Every undisturbed figure is also at least the undisturbed time
// of the fastest operation, which lost only a part of its CPU time.
func (f *Figures) missingCPUEffect(m missingCPU) (e Effect) {
	x := min(m.share, m.windowShare, 1)
	if x <= 0 {
		return e
	}
	factor := x / math.Max(1-x, 0.01)
	times, floor := timesFromSummary(&f.Headline), 0.0
	if own := f.OperationCPUNS; own > 0 {
		floor = max(times[0]-min(own, times[0])*x, 0)
	}
	quantiles := Quantiles()
	for i, measured := range times {
		work := 1.0
		if f.OperationCPUNS > 0 && measured > 0 {
			work = min(max(f.OperationCPUNS/measured, m.membersBusy), 1)
		}
		effect := factor * work
		switch {
		case x < minMissingShare || measured <= 0:
		case i == MeanIndex:
			effect += (1 + effect) * m.pauseEffect(measured, measured*f.meanWithout(x), x)
		case i > 0 && i < len(quantiles):
			effect += (1 + effect) * m.pauseEffect(measured, f.quantile(max(quantiles[i]-100*x, 0)), 1)
		}
		if measured > 0 && floor > 0 {
			effect = min(effect, excess(measured, floor))
		}
		e.Times[i] = effect
	}
	if !f.OpenLoop { // in an open loop, the schedule determines the throughput
		mean := e.Times[MeanIndex]
		e.Throughput = mean / (1 + mean)
	}
	return e
}

// pauseEffect returns the fraction by which the time `measured` may be too high because some
// operations encountered pauses. The parameter `share` is the fraction of such operations, or 1 for
// a percentile. The parameter `undisturbed` is the time without these operations.
func (m *missingCPU) pauseEffect(measured, undisturbed, share float64) float64 {
	if m.longestPause > 0 {
		undisturbed = max(undisturbed, measured-share*maxPausesPerOperation*m.longestPause)
	}
	return excess(measured, undisturbed)
}

// meanWithout replaces each quantile q by the quantile q-x. It returns the mean that results, as a
// fraction of the measured mean. It approximates both means from 50 quantiles.
func (f *Figures) meanWithout(x float64) float64 {
	measured, undisturbed := 0.0, 0.0
	for p := 1.0; p < 100; p += 2 {
		if at := f.quantile(p); at > 0 {
			measured, undisturbed = measured+at, undisturbed+f.quantile(max(p-100*x, 0))
		}
	}
	if measured <= 0 {
		return 1
	}
	return undisturbed / measured
}
