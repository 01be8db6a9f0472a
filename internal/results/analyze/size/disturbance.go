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

// disturbance is the disturbance of a trial of a search, according to its verdict.
type disturbance struct {
	trial     *record.Trial
	generator bool            // the generator was late
	others    bool            // others used the members' CPUs
	why       *verdict.Reason // the worst reason that names a disturbance; nil if there is none
}

// disturbanceOf returns the disturbance in a trial's verdict. It ignores a reason that concerns no
// part of the objective, if the figures of all parts are known.
func disturbanceOf(t *record.Trial, parts []analyze.Threshold) (d disturbance) {
	d.trial = t
	for i := range t.Verdict.Reasons {
		r := &t.Verdict.Reasons[i]
		if !isDisturbance(r.Rule) || !concerns(r, t, parts) {
			continue
		}
		if d.why == nil || ofGenerator[r.Rule] && !d.generator {
			d.why = r
		}
		d.generator = d.generator || ofGenerator[r.Rule]
		d.others = d.others || ofOthers[r.Rule]
	}
	return d
}

// concerns reports whether a reason is, or may be, about a part of an objective. The effect on a
// percentile that failed is not known. If the generator was late, the effect on the highest
// percentile that did not fail is used instead.
func concerns(r *verdict.Reason, t *record.Trial, parts []analyze.Threshold) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part analyze.Threshold) bool {
		p, ofTimes := percentile100(&part)
		if !ofTimes || !slices.Contains(measure.Percentiles, p) || r.About(part.Metric) {
			return true
		}
		if is := t.ResponseTime.Percentile(p); !is.Failed {
			return !is.Known
		}
		for _, lower := range slices.Backward(measure.Percentiles) {
			if lower < p && t.ResponseTime.Percentile(lower).Known {
				return ofGenerator[r.Rule] && r.About(fmt.Sprintf("p%g", lower))
			}
		}
		return false
	})
}

// sureShares returns, for each part of an objective, the share of the slow operations that would
// also have been slow without the disturbance.
func (d *disturbance) sureShares(o *Objective) []float64 {
	sure := make([]float64, len(o.Parts))
	if d.why == nil {
		return sure
	}
	is, wouldBe := d.times()
	for i := range o.Parts {
		t := &o.Parts[i]
		if _, ok := percentile100(t); !ok || d.othersUnknown() {
			continue
		}
		if over := shareFrom(is, float64(boundOf(t))); over > 0 {
			sure[i] = min(shareFrom(wouldBe, float64(boundOf(t)))/over, 1)
		}
	}
	return sure
}

// times returns the quantiles of the successful operations, as measured and as lower bounds without
// the disturbance, as far as the verdict knows the effect on each. If others used most of the
// members' CPUs it does not know: the system's scheduler may have made an operation wait for any
// time.
func (d *disturbance) times() (is, wouldBe []quantile) {
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
		if !d.others || moved <= mostByOthers {
			least = max(least, figures[i].NS/(1+moved)) // a lower bound for all higher quantiles
		}
		is, wouldBe = append(is, quantile{p, figures[i].NS}), append(wouldBe, quantile{p, least})
	}
	return is, wouldBe
}

// mostByOthers is the effect from which the influence of other users of the members' CPUs is
// unknown.
const mostByOthers = 0.5

// quantile is a time and the percentage of the operations below it.
type quantile struct{ percent, ns float64 }

// shareFrom returns the share of operations that take at least ns, by the known quantiles in
// ascending order, interpolated linearly.
func shareFrom(all []quantile, ns float64) float64 {
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

// failed returns the number of a second's operations that failed independently of any
// disturbance: operations that a late generator did not send are not the store's failures.
func (d *disturbance) failed(s *analyze.Second) float64 {
	failed := s.Errors
	if d.generator {
		failed -= s.ErrorsByKind[kv.NotSent.String()]
	}
	return float64(failed)
}

// othersUnknown reports whether members shared the late generator's machine and the CPU use of
// other programs is unknown, as with a cluster that was already running: whatever used the
// generator's CPUs also used the members'.
func (d *disturbance) othersUnknown() bool {
	t := d.trial
	return d.generator && t.Shared != nil && *t.Shared && t.ForeignShare == nil
}

// ofOthers lists the rules about CPU time that members did not get.
var ofOthers = map[int]bool{10: true, 23: true}

// ofGenerator lists the rules about delays of the load generator.
var ofGenerator = map[int]bool{5: true, 6: true, 7: true, 8: true, 9: true}

// ofWorker lists the rules about a single worker that was slow or disturbed.
var ofWorker = map[int]bool{28: true, 30: true}

// isDisturbance reports whether a rule of the verdict names a disturbance of a trial.
func isDisturbance(rule int) bool { return ofGenerator[rule] || ofOthers[rule] || ofWorker[rule] }

// OutOfSpace describes how a trial shows that the store ran out of space, without a full stop;
// empty if it did not.
func OutOfSpace(t *record.Trial) string {
	kind := kv.NoSpace.String()
	n := t.ErrorsByKind[kind]
	if n == 0 {
		return ""
	}
	words := fmt.Sprintf("%s of %s ended in %s", text.Count(n), text.Plural(t.Due, "operation"), kind)
	if why := t.ErrorTexts[kind]; why != "" {
		words += ": " + text.Line(why, text.MaxOutput)
	}
	return words
}

// remedyOf returns what to do about the cause of a void trial, or "".
func remedyOf(t *record.Trial) string {
	if OutOfSpace(t) != "" {
		return "free space in the store, or raise its quota"
	}
	d := disturbanceOf(t, nil)
	if d.why == nil {
		return ""
	}
	_, remedy := verdict.DescribeRule(d.why.Rule)
	if ofOthers[d.why.Rule] {
		remedy += ", or search for longer (--until)"
	}
	return remedy
}
