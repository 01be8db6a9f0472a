package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// GeneratorOverhead reports how much the load generator added to the times in the measurement
// window, and by how much that may have moved the headline figures. Rules R5 to R9 use it as
// evidence.
type GeneratorOverhead struct {
	// MeanNS is the mean time that the generator added to an operation. CycleNS is the mean time
	// from when an operation was due until it ended, without the time for which it waited for other
	// operations on its connection.
	MeanNS  float64 `json:"mean_ns"`
	CycleNS float64 `json:"cycle_ns"`
	// Sampled holds the headline times of the sampled operations as they were measured. Undisturbed
	// holds these times without the time that the generator added to each operation.
	Sampled     Times `json:"sampled_ns"`
	Undisturbed Times `json:"undisturbed_ns"`
	// RunWaitNS is, in a closed loop, the part of MeanNS for which the generator's threads waited
	// in the run queue.
	RunWaitNS float64 `json:"run_wait_ns"`
	// RanForLoad is a lower bound for the share of RunWaitNS in which every CPU of the machine ran
	// the members or the generator; absent if it is not known.
	RanForLoad *float64 `json:"ran_for_load,omitempty"`
	// Conserved is the share of MeanNS in which the members had the CPUs. In that time, the store
	// did its work while the generator waited.
	Conserved float64 `json:"conserved"`
	// Lag is the time from a response's arrival to the read call that received it. Own and Waiting
	// are, in an open loop, the two parts of an operation's lateness: the part that the generator
	// caused, and the part for which the operation waited for a connection or for the limit on
	// operations in flight.
	Lag     Times  `json:"lag_ns"`
	Own     *Times `json:"own_lateness_ns,omitempty"`
	Waiting *Times `json:"waiting_ns,omitempty"`
	// Effect is by how much the headline figures may be off, as shares.
	Effect verdict.Effect `json:"effect"`
}

// waits holds what is known about the time for which the generator waited in the run queue.
type waits struct {
	ranForLoad *float64 // see GeneratorOverhead.RanForLoad
	// held is an upper bound for the share of the event loops' time in which CPU limits stopped
	// them. The system counts this time as run queue wait, too.
	held float64
}

// waitsOf returns the waits of a number of event loops. throttled is the sum over all CPUs, and
// delay the sum over the event loops, both in nanoseconds.
func waitsOf(ranForLoad *float64, throttled, delay int64, loops int, seconds float64) waits {
	w := waits{ranForLoad: ranForLoad}
	if held := float64(min(throttled, delay)); held > 0 {
		w.held = 1
		if all := float64(loops) * seconds * 1e9; held < all {
			w.held = held / all
		}
	}
	return w
}

// newOverhead returns nil if no operation was sampled.
func newOverhead(all *sums, m *measure.Totals, open bool, connectionWait float64, w waits) *GeneratorOverhead {
	d := &m.Disturbed
	a := addedTo(d, all.response, connectionWait, w)
	if a == nil {
		return nil
	}
	a.Lag = Times{measure.Summarize(d.Lag, 0)}
	if open {
		a.Own, a.Waiting = &Times{measure.Summarize(d.Own, 0)}, &Times{measure.Summarize(d.Waiting, 0)}
	}
	f := a.figures()
	a.Effect = f.Effect(open)
	return a
}

// addedTo computes the overhead for operations with these response times, but not the
// distributions. It returns nil if no operation was sampled. connectionWait is the mean time for
// which an operation in a closed loop waited for room on a connection. It is not part of the cycle,
// because the connection limits such a loop.
func addedTo(d *measure.Disturbance, response *measure.Histogram, connectionWait float64, w waits) *GeneratorOverhead {
	if count(d.Sampled) == 0 || count(d.Undisturbed) == 0 { // the results from another worker may have only one of them
		return nil
	}
	a := &GeneratorOverhead{
		Sampled:     Times{measure.Summarize(d.Sampled, 0)},
		Undisturbed: Times{measure.Summarize(d.Undisturbed, 0)},
		MeanNS:      max(d.Sampled.Mean()-d.Undisturbed.Mean(), 0),
		RanForLoad:  w.ranForLoad,
	}
	a.RunWaitNS = min(max(float64(d.RunWait)/float64(count(d.Sampled)), 0), a.MeanNS)
	if n := count(response); n > 0 {
		a.MeanNS += float64(d.Idle) / float64(n)
		a.CycleNS = response.Mean() - connectionWait
	}
	a.Conserved = a.conserved(w.held)
	return a
}

// conserved returns a lower bound for GeneratorOverhead.Conserved. It assumes that CPU limits on
// the event loops stopped all their clients for the whole time. It attributes to the generator all
// time that the members are not known to have used.
func (a *GeneratorOverhead) conserved(held float64) float64 {
	if a.MeanNS <= 0 || a.RanForLoad == nil {
		return 0
	}
	return min(max(*a.RanForLoad, 0), 1) * max(a.RunWaitNS-held*a.CycleNS, 0) / a.MeanNS
}

// figures returns the input for the verdict.
func (a *GeneratorOverhead) figures() verdict.Added {
	if a == nil {
		return verdict.Added{}
	}
	return verdict.Added{
		Known: true, MeanNS: a.MeanNS, CycleNS: a.CycleNS, Conserved: a.Conserved,
		Sampled: a.Sampled.Summary, Undisturbed: a.Undisturbed.Summary,
	}
}

// waited returns quantiles and the mean of the time for which operations waited for a connection or
// for the limit on operations in flight, over all operations sent. The histogram contains only the
// operations that waited.
func waited(d *measure.Disturbance) (times verdict.Times) {
	sent, some := float64(count(d.Own)), float64(count(d.Waiting))
	if some == 0 {
		return times
	}
	for i, p := range verdict.Quantiles() {
		if above := (1 - p/100) * sent; some > above {
			times[i] = float64(d.Waiting.ValueAtQuantile(100 * (1 - above/some)))
		}
	}
	times[verdict.MeanPlace] = d.Waiting.Mean() * some / max(sent, some)
	return times
}
