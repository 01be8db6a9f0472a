// Package analyze turns records into findings: tables of trials, conditions, events and thresholds.
// Its subpackages, such as limits, overtime, compare and faults, produce other findings; they use
// the rows, tables and events of this package. The package reads only the record and does not
// format output.
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

// Row holds a trial with its repeats, which share one row in a table.
type Row struct {
	Trials []*record.Trial // all repeats; at least one
	Done   []*record.Trial // the repeats that have figures
	// Dependent is set if several of the trials in Done ran on the same cluster, and so share its
	// state.
	Dependent bool
}

// TrialsInOrder returns the trials of a run in the order of the scenario. The repeats of a trial
// follow each other.
func TrialsInOrder(run *record.Run) []*record.Trial {
	all := make([]*record.Trial, 0, len(run.Trials))
	for i := range run.Trials {
		all = append(all, &run.Trials[i])
	}
	slices.SortStableFunc(all, func(a, b *record.Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Repeat, b.Repeat))
	})
	return all
}

// Rows returns one row for each trial, with all of its repeats, in the order of the scenario.
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

// RowOf returns a row with a single trial, which must have figures.
func RowOf(t *record.Trial) *Row { return &Row{Trials: []*record.Trial{t}, Done: []*record.Trial{t}} }

// First returns the first repeat. All repeats have the same conditions.
func (r *Row) First() *record.Trial { return r.Trials[0] }

// Label returns the name of a trial. If the trial is repeated, the name includes the number of the
// repeat.
func Label(t *record.Trial) string {
	if t.Repeated() {
		return fmt.Sprintf("%s repeat %d", t.Name, t.Repeat)
	}
	return t.Name
}

// HeadlineTime returns the kind of time that the row shows first: the response time if at least one
// repeat shows the response time first.
func (r *Row) HeadlineTime() record.Time {
	if slices.ContainsFunc(r.Done, func(t *record.Trial) bool { return t.HeadlineTime() == record.Response }) {
		return record.Response
	}
	return r.First().HeadlineTime()
}

// Doubts reports whether the verdict of at least one repeat doubts the figure.
func (r *Row) Doubts(figure string) bool {
	return slices.ContainsFunc(r.Done, func(t *record.Trial) bool { return t.Verdict.IsFigureDoubtful(figure) })
}

// RepeatsText describes the repeats in the list, such as " in repeats 1, 2 and 5". It returns an
// empty string if the trial has only one repeat.
func (r *Row) RepeatsText(repeats []*record.Trial) string {
	switch n := len(repeats); {
	case len(r.Trials) == 1 || n == 0:
		return ""
	case n == len(r.Trials):
		return fmt.Sprintf(" in all %d repeats", n)
	case n == 1:
		return fmt.Sprintf(" in repeat %d", repeats[0].Repeat)
	case n > MaxListedRepeats:
		return fmt.Sprintf(" in %d of %d repeats", n, len(r.Trials))
	}
	var some []string
	for _, t := range repeats[:len(repeats)-1] {
		some = append(some, strconv.Itoa(t.Repeat))
	}
	return fmt.Sprintf(" in repeats %s and %d", strings.Join(some, ", "), repeats[len(repeats)-1].Repeat)
}

// MaxListedRepeats is the maximum number of repeats that are listed by number.
const MaxListedRepeats = 6

// CombinedVerdict is the combined verdict of several trials: the worst state, and the numbers of
// all broken rules. If a trial has no verdict, State is the state of that trial.
type CombinedVerdict struct {
	State string
	Rules []int
}

// WorstVerdict returns the worst verdict among the trials.
func WorstVerdict(trials []*record.Trial) verdict.State {
	worst := verdict.Valid
	for _, t := range trials {
		if t.Verdict.State.Worse(worst) {
			worst = t.Verdict.State
		}
	}
	return worst
}

// JudgeTrials combines the verdicts of several trials.
func JudgeTrials(trials []*record.Trial) CombinedVerdict {
	var rules []int
	for _, t := range trials {
		if !HasFigures(t) {
			return CombinedVerdict{State: string(t.State)}
		}
		for _, r := range t.Verdict.Reasons {
			rules = append(rules, r.Rule)
		}
	}
	slices.Sort(rules)
	return CombinedVerdict{State: string(WorstVerdict(trials)), Rules: slices.Compact(rules)}
}

// JudgeFigure combines the verdicts of several trials for one of their figures. It includes only
// rules that are about this figure or about the whole trial.
func JudgeFigure(figure string, trials []*record.Trial) CombinedVerdict {
	var rules []int
	worst := verdict.Valid
	for _, t := range trials {
		if !HasFigures(t) {
			return CombinedVerdict{State: string(t.State)}
		}
		state := t.Verdict.FigureState(figure)
		if state.Worse(worst) {
			worst = state
		}
		for i := range t.Verdict.Reasons {
			if r := &t.Verdict.Reasons[i]; state != verdict.Valid && (state == verdict.Invalid || r.Affects(figure)) {
				rules = append(rules, r.Rule)
			}
		}
	}
	slices.Sort(rules)
	return CombinedVerdict{State: string(worst), Rules: slices.Compact(rules)}
}

// String formats the verdict as in tables, such as "suspect R5 R10".
func (j CombinedVerdict) String() string {
	text := j.State
	for _, r := range j.Rules {
		text += fmt.Sprintf(" R%d", r)
	}
	return text
}

// HasFigures reports whether a trial has figures. Interrupted trials have figures if their
// measurement window had started.
func HasFigures(t *record.Trial) bool {
	return t.State == record.Complete || t.State == record.Interrupted && t.Seconds > 0
}

// ShareCluster reports whether two or more of the trials ran on the same cluster. If a run attached
// to a running cluster, ShareCluster compares the endpoints, because the run gives such a cluster a
// new name each time.
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

// ClusterOf returns the cluster on which a trial ran. It returns an empty Cluster if the run does
// not list it.
func ClusterOf(run *record.Run, t *record.Trial) record.Cluster {
	for i := range run.Clusters {
		if run.Clusters[i].ID == t.Cluster {
			return run.Clusters[i]
		}
	}
	return record.Cluster{}
}

// RepeatLabels returns the labels of the trials, in the order of first appearance. Several repeats
// of a trial share one label, which contains the number of these repeats.
func RepeatLabels(trials []*record.Trial) (all []string) {
	repeats := map[string]int{}
	for _, t := range trials {
		repeats[t.Name]++
	}
	for _, t := range trials {
		switch n := repeats[t.Name]; {
		case n == 1:
			all = append(all, Label(t))
		case n > 1:
			all = append(all, fmt.Sprintf("%s (%d repeats)", t.Name, n))
		}
		repeats[t.Name] = 0
	}
	return all
}
