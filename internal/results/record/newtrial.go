package record

import (
	"cmp"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// NewTrial computes a trial's result from the measurements. Every figure that quorumbench prints
// comes from this result. warmup may be nil. NewTrial does not modify its arguments. The result
// contains no pointer into the totals, because such a pointer would keep the generator's memory
// alive.
func NewTrial(c Conditions, o Observed, measured, warmup *measure.Totals, roles RoleHistory) Trial {
	all := measured.MergedCell()
	t := newPendingTrial(c, o.Started)
	t.State, t.Failure = cmp.Or(o.State, Complete), o.Failure
	if !o.Opened.IsZero() {
		t.Opened = new(o.Opened.UTC())
	}
	t.count(measured)
	t.setTimes(all, measured)
	t.setParts(&o, measured, roles)
	t.ActualWarmupSeconds, t.WarmupSteady = o.WarmupSeconds, o.Steady
	t.setWindowSummary(&o, measured)
	t.setUsage(&o, measured)
	t.Verification.setDiskShare(t.Due, t.Written)
	t.Overhead = newOverhead(all, measured, c.Open(), t.ConnectionWaitNS, newQueueWaits(o.RanForLoad, measure.OrZero(t.ThrottledNS), t.RunDelayNS, t.Loops, t.Seconds))
	t.Verdict = verdict.Judge(t.figures(&o, all, measured, warmup))
	return t
}

// newPendingTrial returns a trial with conditions, but without a result.
func newPendingTrial(c Conditions, started time.Time) Trial {
	c.Endpoints, c.Notes = orEmpty(c.Endpoints), orEmpty(c.Notes)
	return Trial{
		Schema: TrialSchema, State: Incomplete, Conditions: c, Started: started.UTC(),
		Counts: Counts{ErrorsByKind: map[string]uint64{}, ErrorTexts: map[string]string{}}, Latencies: Latencies{ErrorTimes: map[string]Times{}},
		Parts: Parts{ByRole: []Served{}, ByOperation: []Served{}, ByMember: []ByMember{}, Roles: RoleHistory{}}, WindowSummary: WindowSummary{LostMembers: []string{}},
		Verdict: verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{}, Notes: []string{}},
	}
}
