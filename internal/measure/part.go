package measure

import "math"

// Part is what one of several workers did of a load in the measured window.
type Part struct {
	Worker string // its name
	// Lost is why it was lost before the load had ended; empty if it was not.
	// What it had told until then is here, and in the totals.
	Lost  string
	Loops int // event loops
	// BeganAfter is how much later than the first of all workers it came to its
	// window, and Length how long that was, in nanoseconds.
	BeganAfter, Length int64
	// ClockBound is how far its clock may be from what it was corrected by, in
	// nanoseconds; 0 for a clock that is ours.
	ClockBound int64

	// Operations due in the window, those of them that completed, and successes
	// done in it.
	Due, Succeeded, Done uint64
	Response             Steps // of the successes
	Lateness             Steps // sent - due, open loop only
	// Sampled, Undisturbed, Idle and RunWait are those of Disturbance.
	Sampled, Undisturbed Steps
	Idle, RunWait        int64

	Window
	Connections []Connection // those of Totals
	// What it used: its loops' threads' processor time and how long they waited
	// for a processor, in nanoseconds; the processor seconds of its process, where
	// it has one of its own, and how long a limit held that back, where the system
	// says it.
	LoopCPU, RunDelay int64
	CPUSeconds        *float64
	ThrottledNS       *int64
	Machine           string // the name of the one that it ran on

	seconds []brief
}

// brief is what is kept of a second: of each series how many successes, and the
// logarithm of their median response time.
type brief struct {
	index int
	of    []briefSeries
}

type briefSeries struct {
	Series
	count  float64
	median float64
}

// leastBrief is how many successes of a series a second must have for their
// median to be compared.
const leastBrief = 10

// Add adds a second of the worker's; those of other phases are passed over.
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
			b.of = append(b.of, briefSeries{c.Series, float64(n), math.Log(max(float64(c.Response.ValueAtPercentile(50)), 1))})
		}
	}
	p.seconds = append(p.seconds, b)
}

// Seconds is how many whole or partial seconds of the window it told.
func (p *Part) Seconds() int { return len(p.seconds) }

// Apart is, for each worker and each second that it shares with others, how far its
// median response time was from theirs: the difference of the logarithms, so that
// 0.1 is a tenth above. Only operations of one kind, answered by one member in one
// term, are compared, and weighted by how many the worker had: a worker whose
// connections go to a slower member is not slower for that.
func Apart(parts []Part) [][]float64 {
	out := make([][]float64, len(parts))
	at := make([]int, len(parts)) // the next second of each
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
		sums := map[Series]*weighed{}
		each := func(do func(i int, s *briefSeries)) {
			for i := range parts {
				if at[i] == len(parts[i].seconds) || parts[i].seconds[at[i]].index != index {
					continue
				}
				for k := range parts[i].seconds[at[i]].of {
					do(i, &parts[i].seconds[at[i]].of[k])
				}
			}
		}
		each(func(_ int, s *briefSeries) {
			if sums[s.Series] == nil {
				sums[s.Series] = &weighed{}
			}
			sums[s.Series].add(s.count, s.median)
		})
		own := make([]weighed, len(parts))
		each(func(i int, s *briefSeries) {
			all := sums[s.Series]
			if others := all.weight - s.count; others > 0 {
				own[i].add(s.count, s.median-(all.sum-s.count*s.median)/others)
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

// weighed is a weighted sum.
type weighed struct{ weight, sum float64 }

func (w *weighed) add(weight, x float64) { w.weight, w.sum = w.weight+weight, w.sum+weight*x }
