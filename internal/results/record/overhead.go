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
	// from when an operation was due to its end.
	MeanNS  float64 `json:"mean_ns"`
	CycleNS float64 `json:"cycle_ns"`
	// The headline's times of the sampled operations as measured, and less what
	// was added to each; 0 where the sample does not support a percentile.
	SampledP50NS     float64 `json:"sampled_p50_ns"`
	UndisturbedP50NS float64 `json:"undisturbed_p50_ns"`
	SampledP99NS     float64 `json:"sampled_p99_ns"`
	UndisturbedP99NS float64 `json:"undisturbed_p99_ns"`
	// Conserved is the share of the time in which no processor of a machine that
	// members share was idle: what the generator waited for then, the store used.
	Conserved float64 `json:"conserved"`
	// Lag is from an answer's arrival to the read call that took it; Own and
	// Waiting, in an open loop, the two parts of sent - due.
	Lag     Times  `json:"lag_ns"`
	Own     *Times `json:"own_lateness_ns,omitempty"`
	Waiting *Times `json:"waiting_ns,omitempty"`
	// Effect is how far the headline's figures can be off, as shares.
	Effect verdict.Effect `json:"effect"`
}

// newOverhead is nil where nothing was sampled. conserved is GeneratorOverhead.Conserved.
func newOverhead(all *sums, m *measure.Totals, open bool, conserved float64) *GeneratorOverhead {
	d := &m.Disturbed
	a := addedTo(d, all.response, conserved)
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
// distributions; nil where nothing was sampled.
func addedTo(d *measure.Disturbance, response *measure.Histogram, conserved float64) *GeneratorOverhead {
	if count(d.Sampled) == 0 || count(d.Undisturbed) == 0 { // a worker elsewhere may tell one without the other
		return nil
	}
	at := func(h *measure.Histogram, p float64) float64 { return measure.Percentile(h, 0, p).NS }
	a := &GeneratorOverhead{
		SampledP50NS:     at(d.Sampled, 50),
		UndisturbedP50NS: at(d.Undisturbed, 50),
		SampledP99NS:     at(d.Sampled, 99),
		UndisturbedP99NS: at(d.Undisturbed, 99),
		MeanNS:           max(d.Sampled.Mean()-d.Undisturbed.Mean(), 0),
		Conserved:        conserved,
	}
	if n := count(response); n > 0 {
		a.MeanNS += float64(d.Idle) / float64(n)
		a.CycleNS = response.Mean()
	}
	return a
}

// figures is what the verdict looks at.
func (a *GeneratorOverhead) figures() verdict.Added {
	if a == nil {
		return verdict.Added{}
	}
	return verdict.Added{
		Known: true, MeanNS: a.MeanNS, CycleNS: a.CycleNS, Conserved: a.Conserved,
		SampledP50NS: a.SampledP50NS, UndisturbedP50NS: a.UndisturbedP50NS,
		SampledP99NS: a.SampledP99NS, UndisturbedP99NS: a.UndisturbedP99NS,
	}
}

// waited is a percentile of the time that all operations sent waited for a
// connection or the limit, of which the histogram has those that waited at all.
func waited(d *measure.Disturbance, percentile float64) float64 {
	sent, some := float64(count(d.Own)), float64(count(d.Waiting))
	above := (1 - percentile/100) * sent
	if some <= above {
		return 0
	}
	return float64(d.Waiting.ValueAtQuantile(100 * (1 - above/some)))
}

// conserved is the share of the time in which a machine that members share had
// no processor idle: at least so much, as little as its processors' idle time
// allows. 0 where the members are elsewhere, or nobody knows.
func (t *Trial) conserved() float64 {
	if !orZero(t.Shared) || t.Machine == nil || t.BusyShare == nil {
		return 0
	}
	given := 1 - orZero(t.StolenShare)
	if given <= 0 {
		return 1
	}
	idle := max(1-*t.BusyShare/given, 0)
	return max(1-float64(t.Machine.CPUs)*idle, 0)
}
