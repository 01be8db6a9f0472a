package size

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// void returns the reason why a trial is not evidence about the store, or an empty string if it is
// evidence. A disturbed trial is evidence in two cases: if it met the objective despite the
// disturbance, or if it would have missed the objective even without the disturbance.
func (o *Objective) void(d *disturbance, tried *capacity.Trial) string {
	switch t := d.trial; {
	case OutOfSpace(t) != "":
		return "the store ran out of space"
	case t.State == record.Interrupted:
		return "it was interrupted"
	case t.Due == 0 || len(tried.Seconds) == 0:
		return "no operation was due in its window"
	case d.worstReason == nil || tried.Holds(o.Goals()) || tried.Misses(o.Goals()):
		return ""
	}
	return d.worstReason.WithoutRemedy()
}

// TrialResult reads the result of a trial of a search from its run directory. The parameter `at` is
// the time at which the trial's window opened, in seconds since the start of the search.
func (o *Objective) TrialResult(t *record.Trial, p capacity.Plan, at float64) (capacity.Trial, error) {
	// Operations that the store refused count as done. Operations that were not sent or timed out
	// do not.
	refused := t.Errors - t.ErrorsByKind[kv.NotSent.String()] - t.ErrorsByKind[kv.TimedOut.String()]
	out := capacity.Trial{Plan: p, StartTime: at, Length: t.Seconds, Due: float64(t.Due), Done: float64(t.Completed + refused), Served: float64(t.Completed)}
	d := disturbanceOf(t, o.Parts)
	out.Disturbed = d.worstReason != nil
	sure := d.undisturbedShares(o)
	err := analyze.EachSecond(t, func(s *analyze.Second) error {
		if s.Missing {
			return nil
		}
		one := capacity.Second{Due: float64(s.Due), InFlight: float64(s.InFlight)}
		for i := range o.Parts {
			one.Bad = append(one.Bad, countBad(&o.Parts[i], s))
			if out.Disturbed {
				failed := d.failed(s)
				one.CertainlyBad = append(one.CertainlyBad, min(failed+sure[i]*(one.Bad[i]-float64(s.Errors)), one.Bad[i]))
			}
		}
		out.Seconds = append(out.Seconds, one)
		return nil
	})
	out.VoidReason = o.void(&d, &out)
	return out, err
}
