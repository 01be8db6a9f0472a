package measure

import "math"

// Part is one worker's part of a load in the measurement window.
type Part struct {
	Worker string // name
	// Lost is why the worker was lost before the load ended; empty if it was not. Its reports
	// until then are included here and in the totals.
	Lost  string
	Loops int // event loops
	// BeganAfter is how much later than the first worker this one opened its window. Length
	// is the length of its window. Both are in nanoseconds.
	BeganAfter, Length int64
	// ClockBound is the largest possible error of the worker's clock after its correction, in
	// nanoseconds; 0 for a clock of this machine.
	ClockBound int64

	// Due counts the operations due in the window, Succeeded those of them that completed, and
	// Done the successes done in the window.
	Due, Succeeded, Done uint64
	Response             Steps // of the successes
	Lateness             Steps // sent - due, open loop only
	// Sampled, Undisturbed, Idle and RunWait are as in Disturbance.
	Sampled, Undisturbed Steps
	Idle, RunWait        int64

	Window
	Connections []Connection // as in Totals
	// LoopCPU is the CPU time of its loops' threads, and RunDelay how long they waited for a
	// CPU, both in nanoseconds. CPUSeconds is the CPU time of its process, and ThrottledNS
	// how long a CPU limit held the process back; nil if it shares the process with another
	// worker or the system does not report it.
	LoopCPU, RunDelay int64
	CPUSeconds        *float64
	ThrottledNS       *int64
	Machine           string // name of its machine

	seconds []brief
}

// brief is a summary of a second: for each series the number of successes and the logarithm of
// their median response time.
type brief struct {
	index  int
	series []briefSeries
}

type briefSeries struct {
	Series
	count     float64
	logMedian float64
}

// leastBrief is the number of successes that a series needs in a second for its median to be
// compared.
const leastBrief = 10

// Add adds a second of the worker. It ignores seconds of other phases.
func (p *Part) Add(s *Second) {
	if s.Phase != Measured {
		return
	}
	p.Due += s.Due
	p.Succeeded += s.Due - s.Failed()
	p.Done += s.Done
	p.Lateness.Add(s.Lateness)
	p.Sampled.Add(s.Disturbed.Sampled)
	p.Undisturbed.Add(s.Disturbed.Undisturbed)
	p.Idle += s.Disturbed.Idle
	p.RunWait += s.Disturbed.RunWait
	b := brief{index: s.Index}
	for _, c := range s.Cells {
		if c.Response == nil {
			continue
		}
		p.Response.Add(c.Response)
		if n := c.Response.TotalCount(); n >= leastBrief {
			b.series = append(b.series, briefSeries{c.Series, float64(n), math.Log(max(float64(c.Response.ValueAtPercentile(50)), 1))})
		}
	}
	p.seconds = append(p.seconds, b)
}

// Seconds returns the number of seconds of the window that the worker reported, including
// partial ones.
func (p *Part) Seconds() int { return len(p.seconds) }

// MedianDistances returns, for each worker and each second that it shares with others, how far its
// median response time was from theirs. The distance is the difference of the logarithms: 0.1 means
// that the worker was a tenth slower. Only operations of the same kind, member and term are
// compared, weighted by the worker's number of operations, so that a worker whose connections
// go to a slower member does not count as slower.
func MedianDistances(parts []Part) [][]float64 {
	out := make([][]float64, len(parts))
	at := make([]int, len(parts)) // index of the next second of each worker
	for {
		index := math.MaxInt
		for i := range parts {
			if at[i] < len(parts[i].seconds) {
				index = min(index, parts[i].seconds[at[i]].index)
			}
		}
		if index == math.MaxInt {
			return out
		}
		sums := map[Series]*weightedSum{}
		each := func(do func(i int, s *briefSeries)) {
			for i := range parts {
				if at[i] == len(parts[i].seconds) || parts[i].seconds[at[i]].index != index {
					continue
				}
				for k := range parts[i].seconds[at[i]].series {
					do(i, &parts[i].seconds[at[i]].series[k])
				}
			}
		}
		each(func(_ int, s *briefSeries) {
			if sums[s.Series] == nil {
				sums[s.Series] = &weightedSum{}
			}
			sums[s.Series].add(s.count, s.logMedian)
		})
		own := make([]weightedSum, len(parts))
		each(func(i int, s *briefSeries) {
			all := sums[s.Series]
			if others := all.weight - s.count; others > 0 {
				own[i].add(s.count, s.logMedian-(all.sum-s.count*s.logMedian)/others)
			}
		})
		for i := range parts {
			if own[i].weight > 0 {
				out[i] = append(out[i], own[i].sum/own[i].weight)
			}
			if at[i] < len(parts[i].seconds) && parts[i].seconds[at[i]].index == index {
				at[i]++
			}
		}
	}
}

// weightedSum is a weighted sum.
type weightedSum struct{ weight, sum float64 }

// add adds x with a weight.
func (w *weightedSum) add(weight, x float64) { w.weight, w.sum = w.weight+weight, w.sum+weight*x }
