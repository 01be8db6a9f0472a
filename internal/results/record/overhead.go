package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// GeneratorOverhead reports how much time the load generator added to the times in the measurement
// window, and how much this may have changed the headline figures. It is the evidence for rules R5
// to R9.
type GeneratorOverhead struct {
	// MeanNS is the mean time that the generator added to an operation. CycleNS is the mean time
	// from when an operation was due until it ended, but without the time for which it waited for
	// other operations on its connection.
	MeanNS  float64 `json:"mean_ns"`
	CycleNS float64 `json:"cycle_ns"`
	// Sampled holds the measured headline times of the sampled operations. Undisturbed holds the
	// same times, but without the time that the generator added to each operation.
	Sampled     Times `json:"sampled_ns"`
	Undisturbed Times `json:"undisturbed_ns"`
	// RunWaitNS is the part of MeanNS for which the generator's threads waited in the run queue. It
	// is measured only in a closed loop.
	RunWaitNS float64 `json:"run_wait_ns"`
	// RanForLoad is a lower bound for the share of RunWaitNS in which every CPU of the machine ran
	// the members or the generator. It is absent if it is not known.
	RanForLoad *float64 `json:"ran_for_load,omitempty"`
	// ConservedShare is the share of MeanNS in which the members had the CPUs. This time is not
	// lost, because the store did its work while the generator waited.
	ConservedShare float64 `json:"conserved"`
	// ReadDelay is the time from when a response arrived until the read call that received it. In
	// an open loop, OwnDelay and BlockedDelay are the two parts of an operation's lateness.
	// OwnDelay is the part that the generator caused. BlockedDelay is the part for which the
	// operation waited because no connection was free or because the limit on operations in flight
	// was reached.
	ReadDelay    Times  `json:"lag_ns"`
	OwnDelay     *Times `json:"own_lateness_ns,omitempty"`
	BlockedDelay *Times `json:"waiting_ns,omitempty"`
	// Effect is the amount by which the headline figures may be wrong, as shares.
	Effect verdict.Effect `json:"effect"`
}

// queueWaits describes the time for which the generator waited in the run queue.
type queueWaits struct {
	ranForLoad *float64 // see GeneratorOverhead.RanForLoad
	// throttledShare is an upper bound for the share of the event loops' time in which CPU limits
	// stopped them. The system includes this time in the run queue wait.
	throttledShare float64
}

// newQueueWaits returns the waits of the event loops, whose number is `loops`. throttled is the sum
// over all CPUs, and delay is the sum over the event loops. Both are in nanoseconds.
func newQueueWaits(ranForLoad *float64, throttled, delay int64, loops int, seconds float64) queueWaits {
	w := queueWaits{ranForLoad: ranForLoad}
	if held := float64(min(throttled, delay)); held > 0 {
		w.throttledShare = 1
		if all := float64(loops) * seconds * 1e9; held < all {
			w.throttledShare = held / all
		}
	}
	return w
}

// newOverhead computes the overhead in the window. It returns nil if no operation was sampled.
func newOverhead(all *measure.Cell, m *measure.Totals, open bool, connectionWait float64, w queueWaits) *GeneratorOverhead {
	d := &m.Disturbance
	a := overheadOf(d, all.Response, connectionWait, w)
	if a == nil {
		return nil
	}
	a.ReadDelay = Times{measure.Summarize(d.ReadDelay, 0)}
	if open {
		a.OwnDelay, a.BlockedDelay = &Times{measure.Summarize(d.OwnDelay, 0)}, &Times{measure.Summarize(d.BlockedDelay, 0)}
	}
	f := a.figures()
	a.Effect = f.Effect(open)
	return a
}

// overheadOf computes the overhead for operations with the given response times. It does not
// compute ReadDelay, OwnDelay and BlockedDelay. It returns nil if no operation was sampled.
// connectionWait is the mean time for which an operation of a closed loop waited for its
// connection. overheadOf subtracts this time from the cycle: the connection causes this wait, and
// not the generator.
func overheadOf(d *measure.Disturbance, response *measure.Histogram, connectionWait float64, w queueWaits) *GeneratorOverhead {
	if measure.Count(d.Sampled) == 0 || measure.Count(d.Undisturbed) == 0 { // results from another worker may contain only one of the two
		return nil
	}
	a := &GeneratorOverhead{
		Sampled:     Times{measure.Summarize(d.Sampled, 0)},
		Undisturbed: Times{measure.Summarize(d.Undisturbed, 0)},
		MeanNS:      max(d.Sampled.Mean()-d.Undisturbed.Mean(), 0),
		RanForLoad:  w.ranForLoad,
	}
	a.RunWaitNS = min(max(float64(d.RunWait)/float64(measure.Count(d.Sampled)), 0), a.MeanNS)
	if n := measure.Count(response); n > 0 {
		a.MeanNS += float64(d.Idle) / float64(n)
		a.CycleNS = response.Mean() - connectionWait
	}
	a.ConservedShare = a.conserved(w.throttledShare)
	return a
}

// conserved returns a lower bound for GeneratorOverhead.ConservedShare. It assumes the worst case
// in two respects. First, while CPU limits stopped an event loop, all clients of the loop had to
// wait. Second, the members used the CPUs only in the time for which this is known.
func (a *GeneratorOverhead) conserved(throttledShare float64) float64 {
	if a.MeanNS <= 0 || a.RanForLoad == nil {
		return 0
	}
	return min(max(*a.RanForLoad, 0), 1) * max(a.RunWaitNS-throttledShare*a.CycleNS, 0) / a.MeanNS
}

// figures returns the facts about the overhead that the verdict needs.
func (a *GeneratorOverhead) figures() verdict.Added {
	if a == nil {
		return verdict.Added{}
	}
	return verdict.Added{
		Known: true, MeanNS: a.MeanNS, CycleNS: a.CycleNS, Conserved: a.ConservedShare,
		Sampled: a.Sampled.Summary, Undisturbed: a.Undisturbed.Summary,
	}
}
