//go:build linux

package e2e_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// opened reads a run directory and compares every trial in the record with the trial's files.
func opened(t *testing.T, dir string) *record.Run {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	figures.ReadTrialFiles(run, dir)
	for i := range run.Trials {
		if run.Trials[i].Opened != nil {
			checkTrial(t, dir, &run.Trials[i])
		}
	}
	return run
}

// openRun calls opened, and checks that the run ended in the given state.
func openRun(t *testing.T, dir string, state record.State) *record.Run {
	t.Helper()
	run := opened(t, dir)
	if run.State != state || run.Finished == nil || len(run.Problems) > 0 {
		t.Errorf("the run in %s is %s (%s), finished %v, with problems %q", dir, run.State, run.Failure, run.Finished, run.Problems)
	}
	return run
}

// checkTrial checks that a trial's figures are consistent with each other and with the trial's
// files.
func checkTrial(t *testing.T, dir string, trial *record.Trial) {
	t.Helper()
	checkBooks(t, trial)
	files, err := record.OpenTrial(dir, trial.Folder)
	if err != nil {
		t.Error(err)
		return
	}
	checkHlog(t, trial, files)
	checkTimeline(t, trial, files)
	checkMachines(t, dir, trial)
}

// checkMachines checks that the record contains samples of the generator and its machine, and of
// the members that the run started, including their data folders.
func checkMachines(t *testing.T, dir string, trial *record.Trial) {
	t.Helper()
	rows, err := record.OpenMachines(dir, trial.Folder)
	if err != nil || len(rows) == 0 {
		t.Errorf("%s: machines.csv has %d rows, %v", trial.Name, len(rows), err)
	}
	known := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		switch r.Kind() {
		case record.MemberRow:
			known["member"] = known["member"] || r.FDs > 0 && r.MinorFaults > 0 && r.ProcessStart > 0 && r.FolderBytes > 0 && r.Machine == record.MachineName
		case record.WholeMachineRow:
			known["machine"] = known["machine"] || len(r.Cores) > 0 && r.Segments > 0 && r.Collecting >= 0
		case record.GeneratorRow:
			known["generator"] = true
		}
	}
	if !known["generator"] || !known["machine"] || trial.StoreCPUSeconds != nil && !known["member"] {
		t.Errorf("%s: machines.csv has %d rows, but complete rows only for %v", trial.Name, len(rows), known)
	}
}

// checkBooks checks that each operation that became due has either completed or failed, in the
// total and in every breakdown.
func checkBooks(t *testing.T, trial *record.Trial) {
	t.Helper()
	if trial.Due != trial.Operations+trial.Errors {
		t.Errorf("%s: %d due, but %d operations and %d errors", trial.Name, trial.Due, trial.Operations, trial.Errors)
	}
	byKind, byRole := uint64(0), [2]uint64{}
	for kind, n := range trial.ErrorsByKind {
		byKind += n
		if times := trial.ErrorTimes[kind]; times.Count != n {
			t.Errorf("%s: %d errors have the kind %s, but %d of them have a time", trial.Name, n, kind, times.Count)
		}
	}
	for kind, text := range trial.ErrorTexts {
		if trial.ErrorsByKind[kind] == 0 || text == "" {
			t.Errorf("%s: the error text %q has the kind %s, but the kind has %d errors", trial.Name, text, kind, trial.ErrorsByKind[kind])
		}
	}
	for _, s := range trial.ByRole {
		byRole[0] += s.Operations
		byRole[1] += s.Errors
	}
	if byKind != trial.Errors || byRole != [2]uint64{trial.Operations, trial.Errors} {
		t.Errorf("%s: %d operations and %d errors in total, but %d errors by kind and %v operations and errors by role",
			trial.Name, trial.Operations, trial.Errors, byKind, byRole)
	}
	if b := trial.ByClient; b != nil && math.Abs(b.Mean*float64(b.Count)-float64(trial.Operations)) > 0.5 {
		t.Errorf("%s: the trial has %d operations, but %d clients completed %.1f operations each", trial.Name, trial.Operations, b.Count, b.Mean)
	}
	for _, r := range trial.Verdict.Reasons {
		if strings.Contains(r.Text, "defect of quorumbench") {
			t.Errorf("%s: %v", trial.Name, r)
		}
	}
}

// checkHlog checks that the histogram log's merged histograms match the trial's figures.
func checkHlog(t *testing.T, trial *record.Trial, files *record.Files) {
	t.Helper()
	merged := func(time record.Time) *measure.Histogram {
		all := measure.NewHistogram()
		for _, i := range files.Intervals {
			if i.Phase == measure.Measured && i.Time == time {
				all = i.AddTo(all)
			}
		}
		return all
	}
	for name, pair := range map[string][2]measure.Summary{
		"response_time_ns":         {measure.Summarize(merged(record.Response), trial.Errors), trial.ResponseTime.Summary},
		"success_response_time_ns": {measure.Summarize(merged(record.Response), 0), trial.SuccessResponseTime.Summary},
		"service_time_ns":          {measure.Summarize(merged(record.Service), trial.Errors), trial.ServiceTime.Summary},
	} {
		if diff := gocmp.Diff(rounded(pair[0]), pair[1]); diff != "" {
			t.Errorf("%s: %s: -latency.hlog +run.json:\n%s", trial.Name, name, diff)
		}
	}
	if failed := uint64(merged(record.ErrorTime).TotalCount()); failed != trial.Errors {
		t.Errorf("%s: latency.hlog has %d errors, but run.json has %d", trial.Name, failed, trial.Errors)
	}
	if trial.Lateness != nil {
		if diff := gocmp.Diff(rounded(measure.Summarize(merged(record.Lateness), 0)), trial.Lateness.Summary); diff != "" {
			t.Errorf("%s: lateness_ns: -latency.hlog +run.json:\n%s", trial.Name, diff)
		}
	}
}

// rounded returns a summary in whole nanoseconds, as in the files.
func rounded(s measure.Summary) measure.Summary {
	s.Mean.NS, s.Stddev.NS = math.Round(s.Mean.NS), math.Round(s.Stddev.NS)
	return s
}

// checkTimeline checks that the one-second intervals add up to the window.
func checkTimeline(t *testing.T, trial *record.Trial, files *record.Files) {
	t.Helper()
	var due, done, failed, completed uint64
	for _, row := range files.Timeline {
		if row.Phase != measure.Measured.String() {
			continue
		}
		succeeded := row.OK + row.Misses + row.Conflicts + row.Stale + row.Unverifiable
		if row.Due != succeeded+row.Errors {
			t.Errorf("%s: second %d: %d operations were due, but %d succeeded and %d failed", trial.Name, row.Second, row.Due, succeeded, row.Errors)
		}
		due, done, failed = due+row.Due, done+row.Done, failed+row.Errors
		completed += succeeded
	}
	got, want := [4]uint64{due, completed, failed, done}, [4]uint64{trial.Due, trial.Operations, trial.Errors, trial.Completed}
	if got != want {
		t.Errorf("%s: due, completed, failed and done are %v in timeline.csv but %v in run.json", trial.Name, got, want)
	}
}

// byName returns the run's trial with the given name.
func byName(t *testing.T, run *record.Run, name string) *record.Trial {
	t.Helper()
	for i := range run.Trials {
		if run.Trials[i].Name == name {
			return &run.Trials[i]
		}
	}
	t.Fatalf("the run has no trial %s (%d trials)", name, len(run.Trials))
	return nil
}

// rule returns a rule's text in the trial's verdict, or an empty string if the verdict does not
// contain the rule.
func rule(trial *record.Trial, number int) string {
	for _, r := range trial.Verdict.Reasons {
		if r.Rule == number {
			return r.Text
		}
	}
	return ""
}

// object parses a text that must be exactly one JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		t.Fatalf("the output is not a JSON object: %v\n%s", err, text)
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		t.Fatalf("the output has more than one JSON object: %v\n%s", err, text)
	}
	return fields
}

// result returns the trial that `bench --format json` printed.
func result(t *testing.T, p *startedProgram) *record.Trial {
	t.Helper()
	out := p.stdout.String()
	object(t, out)
	trial := &record.Trial{}
	if err := json.Unmarshal([]byte(out), trial); err != nil {
		t.Fatal(err)
	}
	if trial.Schema != record.TrialSchema {
		t.Errorf("the schema is %q", trial.Schema)
	}
	checkBooks(t, trial)
	return trial
}

// checkBetween checks that a figure is within bounds.
func checkBetween[T cmp.Ordered](t settle.Reporter, what string, got, low, high T) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %v, want %v to %v", what, got, low, high)
	}
}
