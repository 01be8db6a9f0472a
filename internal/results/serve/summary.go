package serve

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxTrials is the maximum number of trials in a Summary.
const maxTrials = 20

// Summary describes a run in the list of runs.
type Summary struct {
	ID         string     `json:"id"` // path of the run directory in the folder of runs, with slashes
	Name       string     `json:"name"`
	Started    time.Time  `json:"started"`
	FinishedAt *time.Time `json:"finished"` // null if the run has not ended
	State      string     `json:"state"`    // as in run.json, or "running"
	Verdict    string     `json:"verdict"`  // worst verdict of the trials that have a result; empty if no trial has a result
	// Problem is the reason why the run directory cannot be read; the other fields are then empty.
	Problem  string   `json:"problem,omitempty"`
	Stores   []string `json:"stores"`
	Versions []string `json:"versions"`
	Labels   []string `json:"labels"` // names that the scenario gives to versions or builds
	Machines []string `json:"machines"`
	// Planned is the number of planned trials, and BegunTrials the number of trials that have
	// begun. Each repeat counts as a trial.
	Planned     int `json:"planned_trials"`
	BegunTrials int `json:"begun_trials"`
	// Trials contains at most maxTrials trials, with the medians of their repeats.
	Trials []TrialSummary `json:"trials"`
	// MoreTrials is the number of trials that Trials does not contain.
	MoreTrials int `json:"more_trials"`
}

// TrialSummary holds the headline figures of a trial.
type TrialSummary struct {
	Name    string `json:"name"`
	Store   string `json:"store"` // with version and label
	Verdict string `json:"verdict"`
	// Throughput and P99 are formatted. PerSecond and P99NS are the same figures as numbers, or
	// null if they are unknown.
	Throughput string   `json:"-"`
	P99        string   `json:"-"`
	PerSecond  *float64 `json:"operations_per_second"`
	P99NS      *float64 `json:"p99_ns"`
	// P99Failed reports whether the operation at the rank of the p99 failed.
	P99Failed bool   `json:"p99_failed"`
	TimeKind  string `json:"time"` // the p99's kind: response time or service time
}

// stateRunning is the state of a run while a process is writing the run directory.
const stateRunning = "running"

// summarize returns the summary of a run that was read from a run directory.
func summarize(id string, run *record.Run) *Summary {
	s := &Summary{ID: id, Name: run.Name, Started: run.Started, FinishedAt: run.Finished, State: string(run.State), Planned: run.Planned, BegunTrials: len(run.Trials)}
	s.Stores, s.Versions, s.Labels, s.Machines, s.Trials = []string{}, []string{}, []string{}, []string{}, []TrialSummary{}
	for i := range run.Machines {
		s.Machines = analyze.AppendNew(s.Machines, run.Machines[i].Name)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		s.Stores, s.Versions = analyze.AppendNew(s.Stores, t.Store), analyze.AppendNew(s.Versions, t.Version)
		if t.Label != "" {
			s.Labels = analyze.AppendNew(s.Labels, t.Label)
		}
	}
	rows := analyze.Rows(run)
	var judged []*record.Trial // a trial in progress has no verdict yet
	for _, r := range rows {
		judged = append(judged, r.Done...)
	}
	if len(judged) > 0 {
		s.Verdict = string(analyze.WorstVerdict(judged))
	}
	if more := len(rows) - maxTrials; more > 0 {
		rows, s.MoreTrials = rows[:maxTrials], more
	}
	throughput, tail := figures.Registered("ops"), figures.Registered("p99")
	for _, r := range rows {
		t := TrialSummary{
			Name: r.First().Name, Store: analyze.Store(r.First()), Verdict: analyze.JudgeTrials(r.Trials).State,
			TimeKind: r.HeadlineTime().Phrase(),
		}
		if len(r.Done) > 0 {
			ops, _ := r.Figure(&throughput)
			p99, _ := r.Figure(&tail)
			t.PerSecond, t.P99NS, t.P99Failed = numberOrNil(ops), numberOrNil(p99), p99.Failed
		}
		s.Trials = append(s.Trials, t)
	}
	s.format()
	return s
}

func numberOrNil(v figures.Value) *float64 {
	if !v.Known || v.Failed {
		return nil
	}
	return &v.Number
}

// unreadable returns the summary of a run directory that cannot be read.
func unreadable(id string, err error) *Summary {
	return &Summary{
		ID: id, Name: filepath.Base(id), State: "unreadable", Problem: text.Line(err.Error(), text.MaxField),
		Stores: []string{}, Versions: []string{}, Labels: []string{}, Machines: []string{}, Trials: []TrialSummary{},
	}
}

// shownTrials is the number of trials that the list shows for a run.
const shownTrials = 4

// Shown returns the trials that the list shows.
func (s *Summary) Shown() []TrialSummary { return s.Trials[:min(len(s.Trials), shownTrials)] }

// Hidden returns the number of trials that the list does not show.
func (s *Summary) Hidden() int { return s.MoreTrials + max(len(s.Trials)-shownTrials, 0) }

// matches reports whether a text of the summary contains the given word, which must be in lower
// case.
func (s *Summary) matches(word string) bool {
	contains := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), word) })
	}
	if contains(s.ID, s.Name, s.State, s.Verdict) || contains(s.Stores...) || contains(s.Versions...) || contains(s.Labels...) || contains(s.Machines...) {
		return true
	}
	return slices.ContainsFunc(s.Trials, func(t TrialSummary) bool { return contains(t.Name) })
}

// newestFirst orders summaries by the start of the run, newest first.
func newestFirst(a, b *Summary) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
}

// format sets the formatted figures, which the index file does not contain.
func (s *Summary) format() {
	for i := range s.Trials {
		t := &s.Trials[i]
		t.Throughput, t.P99 = text.Dash, text.Dash
		if t.PerSecond != nil {
			t.Throughput = text.PerSecond(*t.PerSecond)
		}
		switch {
		case t.P99Failed:
			t.P99 = "failed"
		case t.P99NS != nil:
			t.P99 = text.Duration(*t.P99NS)
		}
	}
}
