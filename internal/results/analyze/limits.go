package analyze

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Limits holds the causes that limited a trial, each based on one figure, and the figures that
// the rules used. A trial without data has no causes.
type Limits struct {
	Trial  *record.Trial
	Causes []Cause
	Looked []string // one line per source of figures
}

// FindLimits returns the causes that limited a trial whose files have been read
// (record.Run.ReadEvents).
func FindLimits(t *record.Trial) Limits {
	l := Limits{Trial: t}
	if !HasFigures(t) {
		return l
	}
	// Members that wait for a CPU appear slow in other figures, so this cause comes first.
	full := machine(t)
	if full != nil && full.What != CauseTester {
		l.add(full)
	}
	members := MembersMetrics(t)
	for i := range members {
		m := &members[i]
		l.add(leaders(m))
		l.add(disks(t, m)...)
		l.add(processors(m))
		l.add(roundTrips(t, m))
		l.add(peers(t, m))
		l.add(silence(t, m))
	}
	if rose := t.TermChanges - t.TermChangesInFaults; !slices.ContainsFunc(l.Causes, func(c Cause) bool { return c.What == CauseElection }) && rose > 0 {
		l.add(&Cause{What: CauseElection, Figure: float64(rose), Text: fmt.Sprintf("the leader changed: the cluster's term rose by %d", rose)})
	}
	for i := range t.ByMember {
		for _, a := range slices.Sorted(slices.Values(t.ByMember[i].Alarms)) { // the member has them in any order
			name := t.ByMember[i].Name
			l.add(&Cause{What: CauseAlarm, Member: name, Text: fmt.Sprintf("member %s raised the alarm %s", name, a)})
		}
	}
	l.add(folder(t))
	if full != nil && full.What == CauseTester {
		l.add(full)
	}
	l.add(loops(t)...)
	l.add(heldBack(t)...)
	l.add(contention(t))
	l.add(machineSeconds(t)...)
	l.add(machineTotals(t)...)
	l.add(pauses(t)...)
	l.Looked = evidence(t, members)
	return l
}

// Worst returns the cause of each kind that is furthest beyond its limit, if a trial is slow or
// suspect, and the number of further causes of that kind. The verdict explains why a quick trial
// is suspect.
func (l *Limits) Worst() (worst []Cause, more []int) {
	slow := IsSlow(l.Trial)
	if !slow && l.Trial.Verdict.State != verdict.Suspect {
		return nil, nil
	}
	return worstOfKinds(l.Causes, func(c *Cause) bool { return !slow && (c.What == CauseTester || c.What == CauseElection) })
}

// worstOfKinds returns the cause of each kind that is furthest beyond its limit, and the number of
// further causes of that kind. It ignores causes for which skip returns true.
func worstOfKinds(all []Cause, skip func(*Cause) bool) (worst []Cause, more []int) {
	for _, c := range all {
		if skip(&c) {
			continue
		}
		i := slices.IndexFunc(worst, func(w Cause) bool { return w.What == c.What })
		switch {
		case i < 0:
			worst, more = append(worst, c), append(more, 0)
			continue
		case c.excess() > worst[i].excess():
			worst[i] = c
		}
		more[i]++
	}
	return worst, more
}

// add appends the causes that are not nil.
func (l *Limits) add(causes ...*Cause) {
	for _, c := range causes {
		if c != nil {
			l.Causes = append(l.Causes, *c)
		}
	}
}
