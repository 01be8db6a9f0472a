// Package limits finds what limited the throughput and the times of a trial, such as a member's
// disk or the load generator, and what happened during its spikes. It also computes the results of
// `check perf`, `check scale`, `check members` and `check disk`; only `check perf` uses the causes.
package limits

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Limits holds the causes that limited a trial, and the figures that were checked. Each cause is
// based on one figure or one alarm. A trial without data has no causes.
type Limits struct {
	Trial    *record.Trial
	Causes   []Cause
	Evidence []string // one line for each source of figures
}

// Find returns the causes that limited a trial. The caller must have read the trial's files
// (figures.ReadTrialFiles).
func Find(t *record.Trial) Limits {
	l := Limits{Trial: t}
	if !analyze.HasFigures(t) {
		return l
	}
	// If members wait for a CPU, their other figures look slow, too. So the CPU is reported first.
	full := machine(t)
	if full != nil && full.Kind != CauseGenerator {
		l.addFound(full)
	}
	members := samples.AllMemberMetrics(t)
	for i := range members {
		m := &members[i]
		l.addFound(leaders(m))
		l.addFound(disks(t, m)...)
		l.addFound(processors(m))
		l.addFound(roundTrips(t, m))
		l.addFound(peers(t, m))
		l.addFound(silence(t, m))
	}
	if rose := t.TermChanges - t.TermChangesInFaults; !slices.ContainsFunc(l.Causes, func(c Cause) bool { return c.Kind == CauseElection }) && rose > 0 {
		l.addFound(&Cause{Kind: CauseElection, Figure: float64(rose), Text: fmt.Sprintf("the leader changed: the cluster's term rose by %d", rose)})
	}
	for i := range t.ByMember {
		// the order of a member's alarms is random
		for _, a := range slices.Sorted(slices.Values(t.ByMember[i].Alarms)) {
			name := t.ByMember[i].Name
			l.addFound(&Cause{Kind: CauseAlarm, Member: name, Text: fmt.Sprintf("member %s raised the alarm %s", name, a)})
		}
	}
	l.addFound(folder(t))
	if full != nil && full.Kind == CauseGenerator {
		l.addFound(full)
	}
	l.addFound(loops(t)...)
	l.addFound(operationWaits(t)...)
	l.addFound(contention(t))
	l.addFound(machineSeconds(t)...)
	l.addFound(machineTotals(t)...)
	l.addFound(pauses(t)...)
	l.Evidence = evidence(t, members)
	return l
}

// worstPerKind returns, for each kind of cause, the cause that exceeds its limit most, and the
// number of other causes of that kind. It returns no causes if the trial is neither slow nor
// suspect. For a suspect trial that is not slow, it omits kinds of causes that the verdict already
// explains.
func (l *Limits) worstPerKind() (worst []Cause, more []int) {
	slow := isSlow(l.Trial)
	if !slow && l.Trial.Verdict.State != verdict.Suspect {
		return nil, nil
	}
	return worstOfKinds(l.Causes, func(c *Cause) bool { return !slow && (c.Kind == CauseGenerator || c.Kind == CauseElection) })
}

// worstOfKinds returns, for each kind of cause, the cause that exceeds its limit most, and the
// number of other causes of that kind. It ignores causes for which `skip` returns true.
func worstOfKinds(all []Cause, skip func(*Cause) bool) (worst []Cause, more []int) {
	for _, c := range all {
		if skip(&c) {
			continue
		}
		i := slices.IndexFunc(worst, func(w Cause) bool { return w.Kind == c.Kind })
		switch {
		case i < 0:
			worst, more = append(worst, c), append(more, 0)
			continue
		case c.excessRatio() > worst[i].excessRatio():
			worst[i] = c
		}
		more[i]++
	}
	return worst, more
}

// addFound adds the causes that are not nil.
func (l *Limits) addFound(causes ...*Cause) {
	for _, c := range causes {
		if c != nil {
			l.Causes = append(l.Causes, *c)
		}
	}
}
