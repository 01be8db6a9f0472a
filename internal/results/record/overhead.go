package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// GeneratorOverhead reports how much the generator itself added to the times of the measurement
// window, and by how much that may have moved the headline. It is the evidence for rules R5 to R9.
type GeneratorOverhead struct {
	// MeanNS is the mean addition to an operation. CycleNS is the mean time from due to the
	// end of an operation, without its wait for other operations on its connection.
	MeanNS  float64 `json:"mean_ns"`
	CycleNS float64 `json:"cycle_ns"`
	// Sampled holds the headline's times of sampled operations as measured; Undisturbed holds the
	// same times without the generator's addition to each.
	Sampled     Times `json:"sampled_ns"`
	Undisturbed Times `json:"undisturbed_ns"`
	// RunWaitNS is, in a closed loop, the part of MeanNS that was run queue wait of the
	// generator's threads.
	RunWaitNS float64 `json:"run_wait_ns"`
	// RanForLoad is the share of RunWaitNS in which every CPU of the machine ran the
	// members or the generator, at least; absent if it is not known.
	RanForLoad *float64 `json:"ran_for_load,omitempty"`
	// Conserved is the share of MeanNS in which the members had the CPUs, so that the store
	// did its work while the generator waited.
	Conserved float64 `json:"conserved"`
	// Lag is the time from a response's arrival to the read call that received it. Own and
	// Waiting are, in an open loop, the two parts of sent - due.
	Lag     Times  `json:"lag_ns"`
	Own     *Times `json:"own_lateness_ns,omitempty"`
	Waiting *Times `json:"waiting_ns,omitempty"`
	// Effect is how far the headline's figures can be off, as shares.
	Effect verdict.Effect `json:"effect"`
}

// waits holds what is known about a generator's run queue wait.
type waits struct {
	ranForLoad *float64 // GeneratorOverhead.RanForLoad
	// held is the share of the loops' time in which CPU limits held them back, at most. The
	// system counts it as run queue wait, too.
	held float64
}

// waitsOf returns the waits of a number of loops. throttled is summed over all CPUs and
// delay over the loops, both in nanoseconds.
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

// newOverhead returns nil if nothing was sampled.
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

// addedTo computes the overhead of operations with these response times, without the
// distributions; nil if nothing was sampled. connectionWait is a closed loop's mean wait
// for room on a connection. It is not part of the cycle because the connection limits such
// a loop.
func addedTo(d *measure.Disturbance, response *measure.Histogram, connectionWait float64, w waits) *GeneratorOverhead {
	if count(d.Sampled) == 0 || count(d.Undisturbed) == 0 { // the results of another worker may have only one of them
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

// conserved returns a lower bound of GeneratorOverhead.Conserved. It assumes that limits on
// the loops held back all their clients all the time, and attributes to the generator what
// is not known to have been the members'.
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

// waited returns quantiles and mean of the time that operations waited for a connection or
// for the limit on operations in flight, over all operations sent. The histogram has only
// those that waited.
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
