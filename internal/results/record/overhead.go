package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// GeneratorOverhead is what the generator itself added to the times of the measured
// window, and how far that can have moved the headline: the evidence behind
// the rules R5 to R9.
type GeneratorOverhead struct {
	// MeanNS is what it added to an operation on average, CycleNS the mean time
	// from when an operation was due to its end, without what it waited for other
	// operations on its connection.
	MeanNS  float64 `json:"mean_ns"`
	CycleNS float64 `json:"cycle_ns"`
	// Sampled are the headline's times of the sampled operations as measured, and
	// Undisturbed the same times less what was added to each.
	Sampled     Times `json:"sampled_ns"`
	Undisturbed Times `json:"undisturbed_ns"`
	// RunWaitNS is, in a closed loop, the part of MeanNS in which its threads were
	// ready to run and waited for a processor.
	RunWaitNS float64 `json:"run_wait_ns"`
	// RanForLoad is the share of that in which every processor of its machine ran the
	// members or the generator, at least; absent where that is not known.
	RanForLoad *float64 `json:"ran_for_load,omitempty"`
	// Conserved is the share of MeanNS in which the members had the processors, so
	// that the store did what the generator did not.
	Conserved float64 `json:"conserved"`
	// Lag is from an answer's arrival to the read call that took it; Own and
	// Waiting, in an open loop, the two parts of sent - due.
	Lag     Times  `json:"lag_ns"`
	Own     *Times `json:"own_lateness_ns,omitempty"`
	Waiting *Times `json:"waiting_ns,omitempty"`
	// Effect is how far the headline's figures can be off, as shares.
	Effect verdict.Effect `json:"effect"`
}

// waits is what is known of a generator's waiting for processors.
type waits struct {
	ranForLoad *float64 // GeneratorOverhead.RanForLoad
	// held is the share of its loops' time in which limits on processor time held
	// them back, at most. The system counts that as waiting for a processor, too.
	held float64
}

// waitsOf are those of so many loops in so many seconds. throttled is the sum over all
// processors, and delay over the loops, in nanoseconds.
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

// newOverhead is nil where nothing was sampled.
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

// addedTo is what was added to operations with these response times, without the
// distributions; nil where nothing was sampled. connectionWait is the mean time for which
// an operation of a closed loop waited for room on its connection: no cycle of what limits
// that loop, the connection, has it.
func addedTo(d *measure.Disturbance, response *measure.Histogram, connectionWait float64, w waits) *GeneratorOverhead {
	if count(d.Sampled) == 0 || count(d.Undisturbed) == 0 { // a worker elsewhere may tell one without the other
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

// conserved is GeneratorOverhead.Conserved, at least. While limits held the loops back
// they held all of their clients for all of the time, at most. What is not known to
// have been the members' was the generator's.
func (a *GeneratorOverhead) conserved(held float64) float64 {
	if a.MeanNS <= 0 || a.RanForLoad == nil {
		return 0
	}
	return min(max(*a.RanForLoad, 0), 1) * max(a.RunWaitNS-held*a.CycleNS, 0) / a.MeanNS
}

// figures is what the verdict looks at.
func (a *GeneratorOverhead) figures() verdict.Added {
	if a == nil {
		return verdict.Added{}
	}
	return verdict.Added{
		Known: true, MeanNS: a.MeanNS, CycleNS: a.CycleNS, Conserved: a.Conserved,
		Sampled: a.Sampled.Summary, Undisturbed: a.Undisturbed.Summary,
	}
}

// waited is the time that all operations sent waited for a connection or the limit,
// of which the histogram has those that waited at all.
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
