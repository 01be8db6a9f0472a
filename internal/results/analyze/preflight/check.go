package preflight

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Check contains everything that was measured on a set of hosts, and a verdict per store.
type Check struct {
	Hosts    []Host
	Pairs    []Pair
	Seconds  float64 // duration of the measurement of the disks
	Verdicts []Verdict
}

// Host contains the measurements of one host.
type Host struct {
	Name, Address string
	Dir           string // the folder in which the disk was measured
	Machine       measure.Machine
	Limits        measure.HostLimits
	Writes        Writes
	// Steal is the share of the measurement in which a hypervisor withheld processor time from the
	// host. Throttled is the share in which a CPU limit withheld processor time. If a share is
	// unknown, it is negative.
	Steal, Throttled float64
	// Busy is the share of the host's processor time that was in use, or negative if it is unknown.
	Busy float64
	// Ahead is how far the host's clock is ahead of the controller's, with an error of at most
	// AheadBound. Both are nil on the controller's own machine.
	Ahead, AheadBound *time.Duration
}

// Withheld returns the share of the time for which processor time was withheld, and whether it is
// known.
func (h *Host) Withheld() (share float64, ok bool) {
	return max(h.Steal, 0) + max(h.Throttled, 0), h.Steal >= 0 || h.Throttled >= 0
}

// Pair contains the measurements between two hosts.
type Pair struct {
	From, To string
	Trips    measure.RoundTrips
	Failure  string // why no round trips were measured, or empty
}

// Name returns the pair's name in reports.
func (p *Pair) Name() string { return p.From + " → " + p.To }

// TripTimes contains the statistics of a pair's round trips.
type TripTimes struct {
	Times
	Mean time.Duration
	// Jitter is the mean difference between two consecutive round trips.
	Jitter time.Duration
	// MinP99 is a lower bound of the p99. It exceeds the true p99 with a probability of at most
	// FalseAlarms. It is 0 if there are too few round trips.
	MinP99 time.Duration
	// Loss is the share of the segments that were retransmitted, or -1 if it is unknown.
	Loss float64
}

// Times returns the statistics of the round trips.
func (p *Pair) Times() (t TripTimes) {
	var sum, steps int64
	all := make([]time.Duration, len(p.Trips.NS))
	for i, ns := range p.Trips.NS {
		all[i] = time.Duration(ns)
		if sum += ns; i > 0 {
			steps += max(ns-p.Trips.NS[i-1], p.Trips.NS[i-1]-ns)
		}
	}
	t.Loss = -1
	if n := int64(len(all)); n > 0 {
		t.Mean, t.Jitter = time.Duration(sum/n), time.Duration(steps/max(n-1, 1))
	}
	if p.Trips.Segments > 0 && p.Trips.Retransmitted >= 0 {
		t.Loss = float64(p.Trips.Retransmitted) / float64(p.Trips.Segments)
	}
	t.Times = timesOf(all) // sorts the round trips
	if beyond := countBeyond(len(all), 0.01); beyond <= len(all) {
		t.MinP99 = all[len(all)-beyond]
	}
	return t
}

// countBeyond returns the smallest number k that meets a condition: the probability that at least k
// of n random values are among the largest `share` of their population is at most FalseAlarms. The
// k-th largest value is therefore rarely above the percentile of the population that belongs to
// `share`. If no k up to n meets the condition, countBeyond returns n + 1.
func countBeyond(n int, share float64) (k int) {
	for k = 1; k <= n; k++ {
		if mathext.RegIncBeta(float64(k), float64(n-k+1), share) <= FalseAlarms {
			return k
		}
	}
	return n + 1
}

// host returns the host with a name, or nil.
func (c *Check) host(name string) *Host {
	if i := slices.IndexFunc(c.Hosts, func(h Host) bool { return h.Name == name }); i >= 0 {
		return &c.Hosts[i]
	}
	return nil
}

// clockDifference returns the smallest possible difference between the clocks of a pair's hosts:
// the estimate minus the error bounds of both clocks. ok is false if the difference is unknown.
func (c *Check) clockDifference(p *Pair) (least time.Duration, ok bool) {
	a, b := c.host(p.From), c.host(p.To)
	if a == nil || b == nil || a.Ahead == nil || b.Ahead == nil {
		return 0, false
	}
	return max((*a.Ahead-*b.Ahead).Abs()-*a.AheadBound-*b.AheadBound, 0), true
}

// measured returns the largest measured times, from which settings are computed for a store.
func (c *Check) measured(rules *kv.HostRules) (m kv.Measured) {
	for i := range c.Pairs {
		t := c.Pairs[i].Times()
		m.MeanRoundTrip, m.P99RoundTrip = max(m.MeanRoundTrip, t.Mean), max(m.P99RoundTrip, cmp.Or(t.P99, t.Max))
	}
	for i := range c.Hosts {
		if size := slices.Index(c.Hosts[i].Writes.Sizes, rules.Record); size >= 0 {
			t := c.Hosts[i].Writes.Times(size)
			m.P99Write, m.LongestWrite = max(m.P99Write, cmp.Or(t.P99, t.Max)), max(m.LongestWrite, t.Max)
		}
	}
	return m
}

// value returns the value of a quantity on a host; ok is false if it is unknown.
func (h *Host) value(q kv.HostQuantity) (value float64, ok bool) {
	switch q {
	case kv.Memory:
		return float64(h.Limits.MemoryBytes), h.Limits.MemoryBytes >= 0
	case kv.Swap:
		return float64(h.Limits.SwapBytes), h.Limits.SwapBytes >= 0
	case kv.OpenFiles:
		return float64(h.Limits.OpenFiles), h.Limits.OpenFiles >= 0
	case kv.Processors:
		value = float64(h.Machine.CPUs)
		if l := h.Machine.CPULimit; l != nil {
			value = min(value, *l)
		}
		return value, value > 0
	case kv.WithheldCPU:
		return h.Withheld()
	}
	return 0, false
}

// pairValue returns the value of a quantity between two hosts; ok is false if it is unknown.
func (c *Check) pairValue(p *Pair, q kv.HostQuantity) (value float64, ok bool) {
	t := p.Times()
	switch q {
	case kv.MeanRoundTrip:
		return t.Mean.Seconds(), t.Count > 0
	case kv.P99RoundTrip:
		return t.MinP99.Seconds(), t.MinP99 > 0
	case kv.ClockDifference:
		d, ok := c.clockDifference(p)
		return d.Seconds(), ok
	}
	return math.NaN(), false
}
