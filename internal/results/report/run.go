package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Run reports a run: the conditions, the tables, the reasons for the verdicts, and the comparisons
// with baselines. dir is the path of the run directory. It is empty if the run has no directory, or
// if it consists of joined runs, which have separate directories.
func Run(run *record.Run, comparisons []*compare.Comparison, dir string) Finding {
	return Finding{
		parts: func(out layout) {
			runParts(out, run, dir)
			for _, c := range comparisons {
				comparisonParts(out, c)
			}
		},
		object: func() any { return runObject(run, comparisons) },
	}
}

// Recorded reports a run in the same way as the command that created the run. If flags defined the
// load, the report describes the run's only trial, without the tables for a run.
func Recorded(run *record.Run, comparisons []*compare.Comparison) Finding {
	f := Run(run, comparisons, run.Dir)
	if run.Scenario != "" || len(run.Trials) != 1 || len(run.Parts) > 0 {
		return f
	}
	f.parts = func(out layout) {
		trialParts(out, &run.Trials[0], run.Dir)
		out.addLines(run.Problems...)
		for _, c := range comparisons {
			comparisonParts(out, c)
		}
	}
	return f
}

// RunsSchema is the schema of JSON objects with several runs.
const RunsSchema = "quorumbench/runs/1"

// Runs reports several runs as JSON. Each run has the same fields as in the JSON of Run. If a run
// contains its own baselines, the fields include the comparison with these baselines.
func Runs(runs []*record.Run) Finding {
	return Finding{object: func() any {
		objects := make([]any, 0, len(runs))
		for _, run := range runs {
			var within []*compare.Comparison
			if c := compare.Baselines(run); c != nil {
				within = append(within, c)
			}
			objects = append(objects, runObject(run, within))
		}
		return record.Object{{Name: "schema", Value: RunsSchema}, {Name: "runs", Value: objects}}
	}}
}

func runParts(out layout, run *record.Run, dir string) {
	out.title(run.Name, Progress(run))
	if run.Failure != "" {
		out.lead(run.Failure)
	}
	out.lead(RepeatProgressLines(run)...)
	if f := size.CapacitiesOf(run); f != nil {
		capacitiesParts(out, f)
		out.blank()
	}
	if rows := analyze.Rows(run); len(rows) > 0 {
		trialsParts(out, run, rows)
	}
	out.list("Problems in the recorded data", run.Problems)
	var places []string
	if dir != "" {
		places = append(places, "Run directory: "+text.Line(dir, text.MaxOutput))
	}
	for _, p := range run.Parts {
		places = append(places, "Run directory of "+p.Name+": "+text.Line(p.Dir, text.MaxOutput))
	}
	out.places(places...)
}

// trialsParts adds the parts that describe all trials.
func trialsParts(out layout, run *record.Run, rows []*analyze.Row) {
	tables := func(all []analyze.Table) {
		for i := range all {
			out.table(TableOf(&all[i]))
		}
	}
	out.facts(analyze.SharedConditions(run, rows))
	tables(analyze.Tables(rows))
	if late := lateness(rows); late != nil {
		out.gap()
		out.block(late)
	}
	tables(faults.OutageTables(rows))
	tables(analyze.WatchTables(rows))
	tables(analyze.MeasuredTables(run, analyze.CallsTable))
	tables(analyze.MeasuredTables(run, analyze.WorkersTable))
	tables(analyze.MeasuredTables(run, analyze.HostsTable))
	if run.Capacity == nil && run.CapacityByParameter == nil { // otherwise, the report of the capacity search contains the ladders
		ladders(out, rows)
	}
	events(out, rows)
	limitParts(out, analyze.TrialsInOrder(run))
	fairnessParts(out, rows)
	out.section(verificationHead, linesOfTrials(run.Trials, func(t *record.Trial) []string { return VerificationLines(t.Verification) }))
	out.section("Connections lost", linesOfTrials(run.Trials, func(t *record.Trial) []string {
		if !analyze.HasFigures(t) {
			return nil
		}
		return LostConnectionLines(t)
	}))
	reasons(out, run)
}

// Progress returns the state of a run and the number of its finished trials.
func Progress(run *record.Run) string {
	finished := 0
	for i := range run.Trials {
		if analyze.HasFigures(&run.Trials[i]) {
			finished++
		}
	}
	trials := text.Plural(uint64(finished), "trial")
	if run.Planned > finished {
		trials = fmt.Sprintf("%d of %d trials", finished, run.Planned)
	}
	return fmt.Sprintf("%s, %s", run.State, trials)
}

// lateness describes how late the open loops sent their operations, with a line for each trial.
func lateness(all []*analyze.Row) (lines []string) {
	for _, r := range all {
		for _, t := range r.Done {
			if l := t.Lateness; l != nil {
				lines = append(lines, fmt.Sprintf("%s: operations were sent late (p50 %s, p99 %s, p99.9 %s)", analyze.Label(t),
					l.Percentile(50).Text(), l.Percentile(99).Text(), l.Percentile(99.9).Text()))
			}
		}
	}
	return lines
}

// runObject returns the JSON object for a run. It has the fields of run.json and the field
// `certainty` with the intervals of the trials' figures. If the run has injected faults or
// comparisons, it also has the fields `faults` or `comparisons`.
func runObject(run *record.Run, all []*compare.Comparison) any {
	object := struct {
		*record.Run
		Certainty   []record.Object `json:"certainty"`
		Broken      []record.Object `json:"faults,omitempty"`
		Comparisons []record.Object `json:"comparisons,omitempty"`
	}{Run: run, Certainty: []record.Object{}}
	rows := analyze.Rows(run)
	object.Broken = brokenObjects(rows)
	for _, r := range rows {
		o := append(record.Object{{Name: "trial", Value: r.First().Name}}, certainties(r)...)
		o.Add("repeats_share_cluster", r.Dependent)
		object.Certainty = append(object.Certainty, o)
	}
	for _, c := range all {
		object.Comparisons = append(object.Comparisons, comparisonObject(c))
	}
	return object
}

// Trials reports the trials of a run as rows, with a column for each of the parameters.
func Trials(run *record.Run, parameters []*scenario.Parameter) Finding {
	return Finding{rows: func() ([]string, []record.Object) { return nil, trialRows(run, parameters) }}
}

// trialRows returns a row for each repeat of each trial, in the order of the scenario. A row
// contains every condition and every figure. The fields have the same names as in the trial's JSON
// object. If a figure is the time of a failed operation, its field is empty. If runs were joined,
// the last field is the name of the run.
func trialRows(run *record.Run, parameters []*scenario.Parameter) (rows []record.Object) {
	certain := map[int]record.Object{} // by number of the trial
	for _, r := range analyze.Rows(run) {
		certain[r.First().Number] = certainties(r)
	}
	for _, t := range analyze.TrialsInOrder(run) {
		row := append(trialFields(t, parameters), certain[t.Number]...)
		if len(run.Parts) > 0 {
			row.Add("run", run.PartOf(t).Name)
		}
		rows = append(rows, row)
	}
	return rows
}

// certainties returns the medians of a trial's figures over the usable repeats, with their
// intervals. The names of the fields are the same for all trials.
func certainties(r *analyze.Row) (all record.Object) {
	for _, f := range analyze.CertainFigures() {
		c, ok := analyze.CertaintyOf(r, &f)
		name, isTime := strings.CutSuffix(f.Key(), "_ns")
		unit := ""
		if isTime {
			unit = "_ns"
		}
		basis := string(c.Basis)
		if r.Dependent && c.Basis == analyze.OverRepeats {
			basis = "repeats_on_one_cluster"
		}
		median, _ := r.Figure(&f)
		all.Add(name+"_median"+unit, numberOrNil(analyze.FileNumber(median), median.Known))
		all.Add(name+"_interval", basis)
		all.Add(name+"_low"+unit, numberOrNil(analyze.FileNumber(c.Low), ok && c.Low.Known))
		all.Add(name+"_high"+unit, numberOrNil(analyze.FileNumber(c.High), ok && c.High.Known))
		if f.Name == "ops" {
			all.Add("effective_seconds", numberOrNil(c.EffectiveSeconds, c.Basis == analyze.WithinRun))
		}
	}
	return all
}

// trialFields returns the fields of a trial's row. The names of the fields are the same for all
// trials.
func trialFields(t *record.Trial, parameters []*scenario.Parameter) (o record.Object) {
	for _, c := range t.Cells(parameters) {
		if c.IsWord {
			o.Add(c.Name, c.Text)
		} else {
			o.Add(c.Name, digits(c.Text))
		}
	}
	o.Add("state", string(t.State))
	o.Add("verdict", string(t.Verdict.State))
	reasons := make([]string, 0, len(t.Verdict.Reasons))
	for _, r := range t.Verdict.Reasons {
		reasons = append(reasons, r.String())
	}
	o.Add("reasons", strings.Join(reasons, "; "))
	o.Add("machine", analyze.Machine(t))
	o.Add("started", t.Started.UTC().Format(time.RFC3339Nano))
	for _, f := range figures.All() {
		if f.Column != "" {
			o.Add(f.Column, digits(f.Cell(t)))
		}
	}
	return o
}
