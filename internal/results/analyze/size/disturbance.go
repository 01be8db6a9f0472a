package size

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// disturbance describes how a trial of a search was disturbed, according to its verdict.
type disturbance struct {
	trial         *record.Trial
	generator     bool            // the load generator was late
	otherPrograms bool            // other programs used the members' CPUs
	worstReason   *verdict.Reason // the worst reason about a disturbance; nil if there is none
}

// disturbanceOf returns the disturbance according to a trial's verdict. It ignores a reason in the
// verdict if the reason certainly concerns no part of the objective.
func disturbanceOf(t *record.Trial, parts []analyze.Threshold) (d disturbance) {
	d.trial = t
	for i := range t.Verdict.Reasons {
		r := &t.Verdict.Reasons[i]
		if !isDisturbance(r.Rule) || !concerns(r, t, parts) {
			continue
		}
		if d.worstReason == nil || generatorRules[r.Rule] && !d.generator {
			d.worstReason = r
		}
		d.generator = d.generator || generatorRules[r.Rule]
		d.otherPrograms = d.otherPrograms || otherProgramRules[r.Rule]
	}
	return d
}

// concerns reports whether a reason is, or may be, about a part of an objective. If the operation
// at a percentile's rank failed, the effect on this percentile is unknown. In this case, if the
// reason is about a late generator, concerns uses the effect on the next lower percentile that is
// known.
func concerns(r *verdict.Reason, t *record.Trial, parts []analyze.Threshold) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part analyze.Threshold) bool {
		p, ofTimes := percentile100(&part)
		if !ofTimes || !slices.Contains(measure.Percentiles, p) || r.Affects(part.Metric) {
			return true
		}
		if is := t.ResponseTime.Percentile(p); !is.Failed {
			return !is.Known
		}
		for _, lower := range slices.Backward(measure.Percentiles) {
			if lower < p && t.ResponseTime.Percentile(lower).Known {
				return generatorRules[r.Rule] && r.Affects(fmt.Sprintf("p%g", lower))
			}
		}
		return false
	})
}

// undisturbedShares returns, for each part of an objective, what share of the slow operations would
// also have been slow without the disturbance.
func (d *disturbance) undisturbedShares(o *Objective) []float64 {
	sure := make([]float64, len(o.Parts))
	if d.worstReason == nil {
		return sure
	}
	is, wouldBe := d.times()
	for i := range o.Parts {
		t := &o.Parts[i]
		if _, ok := percentile100(t); !ok || d.othersUnknown() {
			continue
		}
		if over := shareAtLeast(is, float64(badAbove(t))); over > 0 {
			sure[i] = min(shareAtLeast(wouldBe, float64(badAbove(t)))/over, 1)
		}
	}
	return sure
}

// times returns quantiles of the times of successful operations. The first result holds the
// measured values, and the second holds lower bounds for the values without the disturbance. If the
// effect on a quantile is unknown, its lower bound equals that of the next lower quantile. For
// example, the effect is unknown if other programs used most of the members' CPUs, because the
// scheduler may then have delayed an operation by any time.
func (d *disturbance) times() (measured, undisturbed []quantile) {
	t := d.trial
	of := t.SuccessResponseTime
	figures := slices.Concat([]measure.Figure{of.Min}, of.Percentiles[:], []measure.Figure{of.Max})
	least := 0.0
	for i, p := range verdict.Quantiles() {
		if !figures[i].Known {
			continue
		}
		moved := t.Verdict.Effect.Times[i]
		if t.Overhead != nil {
			moved = max(moved, t.Overhead.Effect.Times[i])
		}
		if !d.otherPrograms || moved <= maxOtherProgramsEffect {
			// this is also a lower bound for all higher quantiles
			least = max(least, figures[i].NS/(1+moved))
		}
		measured, undisturbed = append(measured, quantile{p, figures[i].NS}), append(undisturbed, quantile{p, least})
	}
	return measured, undisturbed
}

// maxOtherProgramsEffect is the effect above which the influence of other programs on the members'
// CPUs is regarded as unknown.
const maxOtherProgramsEffect = 0.5

// quantile is a time in nanoseconds, and the percentage of the operations that were faster.
type quantile struct{ percent, ns float64 }

// shareAtLeast returns the share of operations that took at least ns. It interpolates linearly
// between the quantiles, which must be in ascending order.
func shareAtLeast(all []quantile, ns float64) float64 {
	for i, q := range all {
		switch {
		case q.ns < ns:
		case i == 0:
			return 1
		default:
			before := all[i-1]
			return 1 - (before.percent+(ns-before.ns)/(q.ns-before.ns)*(q.percent-before.percent))/100
		}
	}
	return 0
}

// failed returns how many operations in a one-second interval failed regardless of any disturbance.
// If the generator was late, operations that it did not send are not failures of the store.
func (d *disturbance) failed(s *analyze.Second) float64 {
	failed := s.Errors
	if d.generator {
		failed -= s.ErrorsByKind[kv.NotSent.String()]
	}
	return float64(failed)
}

// othersUnknown reports whether two conditions are met: members shared the machine of a late
// generator, and the CPU use of other programs is unknown, for example because the cluster was
// already running. In this case, the programs that delayed the generator also used the members'
// CPUs.
func (d *disturbance) othersUnknown() bool {
	t := d.trial
	return d.generator && t.SharesMachine != nil && *t.SharesMachine && t.ForeignShare == nil
}

// otherProgramRules contains the verdict rules about CPU time that members did not get.
var otherProgramRules = map[int]bool{10: true, 23: true}

// generatorRules contains the verdict rules about delays in the load generator.
var generatorRules = map[int]bool{5: true, 6: true, 7: true, 8: true, 9: true}

// workerRules contains the verdict rules about a single worker that was slow or disturbed.
var workerRules = map[int]bool{28: true, 30: true}

// isDisturbance reports whether a verdict rule is about a disturbance.
func isDisturbance(rule int) bool {
	return generatorRules[rule] || otherProgramRules[rule] || workerRules[rule]
}

// OutOfSpace returns a sentence, without the full stop, about the errors that show that the store
// ran out of space. It returns an empty string if the trial has no such errors.
func OutOfSpace(t *record.Trial) string {
	kind := kv.NoSpace.String()
	n := t.ErrorsByKind[kind]
	if n == 0 {
		return ""
	}
	words := fmt.Sprintf("%s of %s failed with %s", text.Count(n), text.Plural(t.Due, "operation"), kind)
	if reason := t.ErrorTexts[kind]; reason != "" {
		words += ": " + text.Line(reason, text.MaxOutput)
	}
	return words
}

// remedyOf returns what the user can do about the cause of a void trial. It returns an empty string
// if the cause is unknown.
func remedyOf(t *record.Trial) string {
	if OutOfSpace(t) != "" {
		return "free space in the store, or raise its quota"
	}
	d := disturbanceOf(t, nil)
	if d.worstReason == nil {
		return ""
	}
	_, remedy := verdict.DescribeRule(d.worstReason.Rule)
	if otherProgramRules[d.worstReason.Rule] {
		remedy += ", or search for longer (--until)"
	}
	return remedy
}
