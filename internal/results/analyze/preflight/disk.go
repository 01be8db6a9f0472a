package preflight

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Writes contains the synced writes on one host's disk.
type Writes struct {
	Sizes    []int         // sizes of the writes, in the order in which they alternate
	Interval time.Duration // between two writes
	Seconds  []measure.WrittenSecond
}

// Neighbor returns the number of bytes that the neighbor's load wrote.
func (w *Writes) Neighbor() int64 {
	if len(w.Seconds) == 0 {
		return 0
	}
	return w.Seconds[len(w.Seconds)-1].NeighborBytes
}

// Late returns the longest delay with which the writer woke up.
func (w *Writes) Late() (d time.Duration) {
	for i := range w.Seconds {
		d = max(d, time.Duration(w.Seconds[i].LateNS))
	}
	return d
}

// waits calls the function `each` for each write of one size; the parameter `size` is an index in
// Sizes. The arguments of `each` are the index in Seconds of the second that contains the write,
// and the time of the write.
func (w *Writes) waits(size int, each func(second int, wait time.Duration)) {
	for s := range w.Seconds {
		for i, ns := range w.Seconds[s].WaitNS {
			if (w.Seconds[s].First+i)%len(w.Sizes) == size {
				each(s, time.Duration(ns))
			}
		}
	}
}

// slow returns, for each second, the share of the writes of one size that took at least `limit`.
func (w *Writes) slow(size int, limit time.Duration) []float64 {
	out, all := make([]float64, len(w.Seconds)), make([]float64, len(w.Seconds))
	w.waits(size, func(s int, wait time.Duration) {
		if all[s]++; wait >= limit {
			out[s]++
		}
	})
	for s := range out {
		out[s] /= max(all[s], 1)
	}
	return out
}

// typical returns the median time of the writes in each second.
func (w *Writes) typical() []time.Duration {
	out := make([]time.Duration, len(w.Seconds))
	for s := range w.Seconds {
		out[s] = time.Duration(stat.UpperMedian(slices.Clone(w.Seconds[s].WaitNS)))
	}
	return out
}

// Times contains percentiles of the times of writes. A percentile is 0 if there are too few writes.
type Times struct {
	Count         int
	P50, P99, Max time.Duration
}

// Times returns the percentiles of the writes of one size.
func (w *Writes) Times(size int) Times {
	var all []time.Duration
	w.waits(size, func(_ int, wait time.Duration) { all = append(all, wait) })
	return timesOf(all)
}

func timesOf(all []time.Duration) (t Times) {
	slices.Sort(all)
	if t.Count = len(all); t.Count == 0 {
		return t
	}
	rank := func(p int) time.Duration {
		if !measure.Supports(float64(p), uint64(len(all))) {
			return 0
		}
		return all[(p*len(all)+99)/100-1]
	}
	t.P50, t.P99, t.Max = rank(50), rank(99), all[len(all)-1]
	return t
}

// Share is a share of slow writes with its interval.
type Share struct{ Value, Low, High float64 }

// shareOf returns the share of slow writes with an interval of 95 %. The seconds of a slow phase
// are not independent. Therefore, the interval is computed in two ways, and the wider interval is
// used. The first way uses blocks of seconds (see stats.MeanWithinRun), but fails if there are few
// phases. The second way is Clopper and Pearson's interval, in which a number of seconds (see
// unitOf) counts as one independent observation.
func shareOf(slow []float64) (s Share) {
	n := float64(len(slow))
	if n == 0 {
		return Share{High: 1}
	}
	sum, unit := floats.Sum(slow), unitOf(slow)
	s.Value, s.High = sum/n, 1
	hits, units := sum/unit, n/unit
	if hits > 0 {
		s.Low = mathext.InvRegIncBeta(hits, units-hits+1, (1-stats.Level)/2)
	}
	if hits < units {
		s.High = mathext.InvRegIncBeta(hits+1, units-hits, 1-(1-stats.Level)/2)
	}
	if w, ok := stats.MeanWithinRun(slow, stats.Level); ok {
		s.Low, s.High = min(s.Low, w.Low), max(s.High, w.High)
	}
	s.Low, s.High = max(s.Low, 0), min(s.High, 1)
	return s
}

// unitOf returns the number of seconds that count as one independent observation. It is the mean,
// over all slow seconds, of the length of the phase that contains the second. If the lengths of the
// phases differ, this mean is larger than their mean length. It is also the factor by which the
// variance of the share is larger than with independent seconds.
func unitOf(slow []float64) float64 {
	var sum, squares, phase float64
	for i, share := range slow {
		if phase += share; share == 0 || i+1 == len(slow) {
			sum, squares, phase = sum+phase, squares+phase*phase, 0
		}
	}
	if sum == 0 {
		return shortestPhase
	}
	return max(squares/sum, shortestPhase)
}

// DiskFinding is the result of a store's disk rule on one host.
type DiskFinding struct {
	Decision
	Rule   kv.DiskRule
	Slow   Share // share of the writes that were slower than the limit
	Stalls int   // number of phases with such writes; see countStalls
	Trend  Trend
	Reason string // one sentence
}

// Decide applies a disk rule to the writes of one size so far. `hosts` is the number of checked
// hosts.
func (w *Writes) Decide(rule kv.DiskRule, size, hosts int) Decision {
	slow := w.slow(size, rule.Limit)
	test := func(slow []float64) Decision {
		if rule.Percentile < 100 {
			return decideShare(slow, 1-rule.Percentile/100, hosts)
		}
		return decideStalls(countStalls(slow), len(slow), hosts)
	}
	d := test(slow)
	if d.State != Pass {
		return d
	}
	c := findTrend(w.typical())
	if c.StepAt > 0 { // only the seconds after the step show how the disk will perform
		if since := test(slow[c.StepAt:]); since.State != Pass {
			return since
		}
	}
	if in, ok := c.reaches(w.Times(size).P99, rule.Limit); ok {
		return Decision{State: CannotTell, More: in}
	}
	return d
}

// DecideDisk applies a store's disk rule to the host's writes so far. `hosts` is the number of
// checked hosts.
func (h *Host) DecideDisk(rules *kv.HostRules, hosts int) Decision {
	size := slices.Index(h.Writes.Sizes, rules.Record)
	switch {
	case !h.Limits.Durable:
		return Decision{State: Fail}
	case size < 0 || len(h.Writes.Seconds) == 0:
		return Decision{State: CannotTell}
	}
	return h.Writes.Decide(rules.Disk, size, hosts)
}

// judgeDisk applies a store's disk rule to one host.
func judgeDisk(h *Host, rules *kv.HostRules, hosts int) DiskFinding {
	w, rule := &h.Writes, rules.Disk
	f := DiskFinding{Decision: h.DecideDisk(rules, hosts), Rule: rule}
	size := slices.Index(w.Sizes, rules.Record)
	switch {
	case !h.Limits.Durable:
		f.Reason = h.Limits.FileSystem + " loses its data at a power loss, so acknowledged writes are not durable on it"
		return f
	case size < 0 || len(w.Seconds) == 0:
		f.Reason = "no write was measured"
		return f
	}
	f.Trend = findTrend(w.typical())
	slow := w.slow(size, rule.Limit)
	f.Slow, f.Stalls = shareOf(slow), countStalls(slow)
	f.Reason = f.explain(len(w.Seconds), w.Times(size))
	return f
}

// explain returns the reason for the decision in one sentence.
func (f *DiskFinding) explain(measured int, t Times) string {
	limit, lasted := text.Duration(float64(f.Rule.Limit)), text.FormatDuration(time.Duration(measured)*time.Second)
	var words string
	if f.Rule.Percentile < 100 {
		words = fmt.Sprintf("%s of the writes in %s took %s or more (95 %% interval %s to %s; limit %s)",
			text.Percent(f.Slow.Value, 2), lasted, limit, text.Percent(f.Slow.Low, 2), text.Percent(f.Slow.High, 2), text.Percent(1-f.Rule.Percentile/100, 0))
	} else {
		words = fmt.Sprintf("%s in %s took %s or more; the longest write took %s", text.Plural(uint64(f.Stalls), "stall"), lasted, limit, text.Duration(float64(t.Max)))
	}
	if f.Trend.StepAt > 0 {
		words += fmt.Sprintf("; after %d s, the typical time rose from %s to %s; burst credits may have ended", f.Trend.StepAt, text.Duration(float64(f.Trend.StepFrom)), text.Duration(float64(f.Trend.StepTo)))
	} else if in, ok := f.Trend.reaches(t.P99, f.Rule.Limit); ok && f.State == CannotTell && t.P99 < f.Rule.Limit {
		words += fmt.Sprintf("; the typical time is growing; at this rate, the p99 will reach %s in about %s", limit, text.FormatDuration(in.Round(time.Second)))
	}
	return words
}
