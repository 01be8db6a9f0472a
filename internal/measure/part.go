package measure

import "math"

// Part is the part of a load that one worker generated, in the measurement window.
type Part struct {
	Worker string // name of the worker
	// Lost is the reason why the worker was lost before the load ended. It is empty if the worker
	// was not lost. The reports that the worker sent before it was lost are included here and in
	// the totals.
	Lost  string
	Loops int // number of event loops
	// StartDelay is the delay from the first worker's start of the window to this worker's start of
	// the window. Length is the length of this worker's window. Both are in nanoseconds.
	StartDelay, Length int64
	// ClockError is the largest possible error of the worker's clock after correction, in
	// nanoseconds. It is 0 if the worker uses this machine's clock.
	ClockError int64

	// Due is the number of operations due in the window, and Succeeded is how many of them
	// completed. Done is the number of successes done in the window, with any due time.
	Due, Succeeded, Done uint64
	Response             Steps // response times of the successes
	Lateness             Steps // sent - due; only in an open loop
	// Sampled, Undisturbed, Idle and RunWait have the same meaning as in Disturbance.
	Sampled, Undisturbed Steps
	Idle, RunWait        int64

	Window
	Connections []Connection // as in Totals
	// LoopCPU is the CPU time of the worker's loop threads. RunDelay is how long these threads
	// waited for a CPU. Both are in nanoseconds. CPUSeconds is the CPU time of the worker's
	// process. ThrottledNS is how long a CPU limit paused the process. CPUSeconds and ThrottledNS
	// are nil if several workers share the process or if the system does not report them.
	LoopCPU, RunDelay int64
	CPUSeconds        *float64
	ThrottledNS       *int64
	Machine           string // name of the worker's machine

	seconds []secondSummary
}

// secondSummary is a summary of one second. It contains, for each series, the number of successes
// and the logarithm of the median of their response times.
type secondSummary struct {
	index  int
	series []seriesSummary
}

type seriesSummary struct {
	Series
	count     float64
	logMedian float64
}

// minComparedSuccesses is the minimum number of successes, per series and second, for a comparison
// of the median.
const minComparedSuccesses = 10

// Add adds one of the worker's seconds. It ignores seconds that are not in the measurement window.
func (p *Part) Add(s *Second) {
	if s.Phase != Measured {
		return
	}
	p.Due += s.Due
	p.Succeeded += s.Due - s.Failed()
	p.Done += s.Done
	p.Lateness.Add(s.Lateness)
	p.Sampled.Add(s.Disturbance.Sampled)
	p.Undisturbed.Add(s.Disturbance.Undisturbed)
	p.Idle += s.Disturbance.Idle
	p.RunWait += s.Disturbance.RunWait
	b := secondSummary{index: s.Index}
	for _, c := range s.Cells {
		if c.Response == nil {
			continue
		}
		p.Response.Add(c.Response)
		if n := c.Response.TotalCount(); n >= minComparedSuccesses {
			b.series = append(b.series, seriesSummary{c.Series, float64(n), math.Log(max(float64(c.Response.ValueAtPercentile(50)), 1))})
		}
	}
	p.seconds = append(p.seconds, b)
}

// Seconds returns the number of seconds in the window that the worker reported, including partial
// seconds.
func (p *Part) Seconds() int { return len(p.seconds) }

// MedianDistances returns, for each worker, the distances between its median response time and that
// of the other workers: one value for each second that the worker has in common with others. A
// distance is the difference between the logarithms: 0.1 means that the worker was about 10 %
// slower. MedianDistances compares only operations with the same kind, consistency, member and
// term, so that a worker with connections to a slower member does not appear slower. It weights
// each comparison by the worker's number of operations.
func MedianDistances(parts []Part) [][]float64 {
	out := make([][]float64, len(parts))
	next := make([]int, len(parts)) // index of each worker's next second
	for {
		index := math.MaxInt
		for i := range parts {
			if next[i] < len(parts[i].seconds) {
				index = min(index, parts[i].seconds[next[i]].index)
			}
		}
		if index == math.MaxInt {
			return out
		}
		sums := map[Series]*weightedSum{}
		each := func(do func(i int, s *seriesSummary)) {
			for i := range parts {
				if next[i] == len(parts[i].seconds) || parts[i].seconds[next[i]].index != index {
					continue
				}
				for k := range parts[i].seconds[next[i]].series {
					do(i, &parts[i].seconds[next[i]].series[k])
				}
			}
		}
		each(func(_ int, s *seriesSummary) {
			if sums[s.Series] == nil {
				sums[s.Series] = &weightedSum{}
			}
			sums[s.Series].add(s.count, s.logMedian)
		})
		distances := make([]weightedSum, len(parts))
		each(func(i int, s *seriesSummary) {
			all := sums[s.Series]
			if others := all.weight - s.count; others > 0 {
				distances[i].add(s.count, s.logMedian-(all.sum-s.count*s.logMedian)/others)
			}
		})
		for i := range parts {
			if distances[i].weight > 0 {
				out[i] = append(out[i], distances[i].sum/distances[i].weight)
			}
			if next[i] < len(parts[i].seconds) && parts[i].seconds[next[i]].index == index {
				next[i]++
			}
		}
	}
}

// weightedSum is a sum of weighted values, and the sum of the weights.
type weightedSum struct{ weight, sum float64 }

// add adds the value x with a weight.
func (w *weightedSum) add(weight, x float64) { w.weight, w.sum = w.weight+weight, w.sum+weight*x }
