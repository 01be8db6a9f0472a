// Package analyze turns records into findings: tables of trials, their bottlenecks, their course
// over time, thresholds. Its subpackages compare, faults and size hold other findings and use its
// rows, tables and events. It reads only the record, and formats nothing.
package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Row holds a trial and its repeats, which share a row of a table.
type Row struct {
	Trials []*record.Trial // at least one
	Done   []*record.Trial // the trials that have figures
	// Dependent reports whether some of the trials in Done ran on one cluster and share its state.
	Dependent bool
}

// InOrder returns a run's trials in the order of the scenario, with the repeats of each next to
// each other.
func InOrder(run *record.Run) []*record.Trial {
	all := make([]*record.Trial, 0, len(run.Trials))
	for i := range run.Trials {
		all = append(all, &run.Trials[i])
	}
	slices.SortStableFunc(all, func(a, b *record.Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Repeat, b.Repeat))
	})
	return all
}

// Rows groups the repeats of each trial, in the order of the scenario.
func Rows(run *record.Run) []*Row {
	var all []*Row
	byNumber := map[int]*Row{}
	for i := range run.Trials {
		t := &run.Trials[i]
		r := byNumber[t.Number]
		if r == nil {
			r = &Row{}
			byNumber[t.Number] = r
			all = append(all, r)
		}
		r.Trials = append(r.Trials, t)
		if HasFigures(t) {
			r.Done = append(r.Done, t)
		}
	}
	for _, r := range all {
		r.Dependent = ShareCluster(run, r.Done)
	}
	slices.SortStableFunc(all, func(a, b *Row) int { return cmp.Compare(a.First().Number, b.First().Number) })
	return all
}

// RowOf returns a row of one trial that has figures.
func RowOf(t *record.Trial) *Row { return &Row{Trials: []*record.Trial{t}, Done: []*record.Trial{t}} }

// First returns the first of the repeats, which have the same conditions.
func (r *Row) First() *record.Trial { return r.Trials[0] }

// Label returns the name of one trial of a run.
func Label(t *record.Trial) string {
	if t.Repeated() {
		return fmt.Sprintf("%s repeat %d", t.Name, t.Repeat)
	}
	return t.Name
}

// HeadlineTime returns the kind of time of the row's first figures: the response time if it is that
// of some repeat.
func (r *Row) HeadlineTime() record.Time {
	if slices.ContainsFunc(r.Done, func(t *record.Trial) bool { return t.HeadlineTime() == record.Response }) {
		return record.Response
	}
	return r.First().HeadlineTime()
}

// Doubts reports whether the verdict of some repeat names the figure.
func (r *Row) Doubts(figure string) bool {
	return slices.ContainsFunc(r.Done, func(t *record.Trial) bool { return t.Verdict.Doubts(figure) })
}

// RepeatsText describes the repeats that in contains, such as " in repeats 1, 2 and 5"; empty for a
// trial without repeats.
func (r *Row) RepeatsText(in []*record.Trial) string {
	switch n := len(in); {
	case len(r.Trials) == 1 || n == 0:
		return ""
	case n == len(r.Trials):
		return fmt.Sprintf(" in all %d repeats", n)
	case n == 1:
		return fmt.Sprintf(" in repeat %d", in[0].Repeat)
	case n > mostPlaces:
		return fmt.Sprintf(" in %d of %d repeats", n, len(r.Trials))
	}
	var some []string
	for _, t := range in[:len(in)-1] {
		some = append(some, strconv.Itoa(t.Repeat))
	}
	return fmt.Sprintf(" in repeats %s and %d", strings.Join(some, ", "), in[len(in)-1].Repeat)
}

// mostPlaces is the number of repeats that are listed.
const mostPlaces = 6

// Judged is the verdict of several trials: the worst state with the numbers of the broken rules, or
// the state of a trial that has no verdict.
type Judged struct {
	State string
	Rules []int
}

// WorstVerdict returns the worst verdict of trials.
func WorstVerdict(trials []*record.Trial) verdict.State {
	worst := verdict.Valid
	for _, t := range trials {
		if t.Verdict.State.Worse(worst) {
			worst = t.Verdict.State
		}
	}
	return worst
}

// JudgeTrials returns the verdict of trials.
func JudgeTrials(trials []*record.Trial) Judged {
	var rules []int
	for _, t := range trials {
		if !HasFigures(t) {
			return Judged{State: string(t.State)}
		}
		for _, r := range t.Verdict.Reasons {
			rules = append(rules, r.Rule)
		}
	}
	slices.Sort(rules)
	return Judged{State: string(WorstVerdict(trials)), Rules: slices.Compact(rules)}
}

// JudgeFigure returns the verdict of trials for one of their figures: only rules about this figure
// or the whole trial count.
func JudgeFigure(figure string, trials []*record.Trial) Judged {
	var rules []int
	worst := verdict.Valid
	for _, t := range trials {
		if !HasFigures(t) {
			return Judged{State: string(t.State)}
		}
		state := t.Verdict.StateOf(figure)
		if state.Worse(worst) {
			worst = state
		}
		for i := range t.Verdict.Reasons {
			if r := &t.Verdict.Reasons[i]; state != verdict.Valid && (state == verdict.Invalid || r.About(figure)) {
				rules = append(rules, r.Rule)
			}
		}
	}
	slices.Sort(rules)
	return Judged{State: string(worst), Rules: slices.Compact(rules)}
}

// String formats the verdict as in tables: suspect R5 R10.
func (j Judged) String() string {
	text := j.State
	for _, r := range j.Rules {
		text += fmt.Sprintf(" R%d", r)
	}
	return text
}

// HasFigures reports whether a trial has figures.
func HasFigures(t *record.Trial) bool {
	return t.State == record.Complete || t.State == record.Interrupted && t.Seconds > 0
}

// ShareCluster reports whether any two of a run's trials ran on one cluster. A cluster that a run
// attached to is identified by its endpoints, because the run gives it a new name each time.
func ShareCluster(run *record.Run, trials []*record.Trial) bool {
	seen := map[string]bool{}
	for _, t := range trials {
		names := []string{"name " + t.Cluster}
		if !ClusterOf(run, t).Started {
			for _, e := range t.Endpoints {
				names = append(names, "endpoint "+e)
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return seen[name] }) {
			return true
		}
		for _, name := range names {
			seen[name] = true
		}
	}
	return false
}

// ClusterOf returns the cluster of a trial, as far as the run knows it.
func ClusterOf(run *record.Run, t *record.Trial) record.Cluster {
	for i := range run.Clusters {
		if run.Clusters[i].ID == t.Cluster {
			return run.Clusters[i]
		}
	}
	return record.Cluster{}
}
