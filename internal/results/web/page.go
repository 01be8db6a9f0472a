// Package web renders findings as a page for a browser: a single self-contained file with charts as
// SVG. It computes no figures. The findings come from the package analyze, and their wording from
// the package report.
package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/text"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed chart.css
var chartStyle string

//go:embed page.js
var pageScript string

// page holds the values for the template.
type page struct {
	Title        string
	Policy       string
	Style        template.CSS
	Script       template.JS
	State        string
	Started      string
	Overview     overview
	Summary      []sentence
	Sheets       []sheet
	Comparisons  compared
	Counts       string // compare.Counts
	Matrices     []picture
	OutageTables []sheet
	Capacity     capacitySection
	Outages      []picture // one for each kind of fault
	Charts       []picture // charts that combine all trials
	Steps        []picture
	Together     []groupSection
	Trials       []trialRow
	More         string // a sentence about the trials that have no charts
	Verdicts     []trialSentence
	Notes        []trialSentence
	Facts        []analyze.Fact
	Repeats      []repeat
	Problems     []string
}

// repeat holds the command that repeats a run. If the page shows several runs, RunName is the name
// of the run.
type repeat struct{ RunName, Command, Scenario string }

// HTML writes a run as a page in one file. The caller must have read the events of the run with
// figures.ReadTrialFiles. The comparisons are shown below the overview. The page makes no requests,
// and all text in it is escaped.
func HTML(w io.Writer, run *record.Run, comparisons []*compare.Comparison) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("cannot read the template of the page: %w", err)
	}
	for shown := chooseTrials(run); ; {
		var b bytes.Buffer
		if err := t.Execute(&b, newPage(run, comparisons, shown)); err != nil {
			return fmt.Errorf("cannot write the page: %w", err)
		}
		if b.Len() <= maxPageBytes || !shown.shrink() {
			_, err = w.Write(b.Bytes())
			return err
		}
	}
}

// Policy returns the content security policy of a page. The policy allows only the script in the
// page, and no requests.
func Policy() string {
	hash := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// Style returns the style sheet of a page.
func Style() string { return chartStyle + pageStyle }

func newPage(run *record.Run, comparisons []*compare.Comparison, shown shownTrials) *page {
	p := &page{
		Title: run.Name, Style: template.CSS(Style()), Script: template.JS(pageScript),
		State: report.Progress(run), Started: run.Started.UTC().Format("2006-01-02 15:04:05 UTC"),
		Repeats: repeatsOf(run),
	}
	p.Policy = Policy()
	rows := analyze.Rows(run)
	drawn, problems := drawRows(shown)
	shown.rows = selectCombinedRows(drawn) // no link leads to a section that could not be drawn
	if len(drawn) < len(rows) {
		p.More = fmt.Sprintf("Trials with charts on this page: %s of %s. The table and the formats csv and json have the figures of all trials.",
			text.Count(uint64(len(drawn))), text.Count(uint64(len(rows))))
	}
	p.Comparisons, p.Counts = newCompared(comparisons), compare.Counts(comparisons)
	steps := "table"
	ladders := size.LaddersOf(run, rows)
	for _, c := range stepsOf(ladders) {
		one := newPicture(&c.Chart, "", "spots")
		one.Spots = c.spots
		p.Steps, steps = append(p.Steps, one), "steps"
	}
	found := size.CapacitiesOf(run)
	if len(rows) > 0 {
		p.addRows(run, rows)
		if found == nil { // the trials of a search are its steps, not its result
			p.Overview = overviewOf(rows, shown)
			for _, c := range matrices(run, rows) {
				p.Matrices = append(p.Matrices, newPicture(&c, "", matrixClass(&c)))
			}
		}
		p.Summary = answer(run, rows, found, ladders, shown, steps, p.Counts)
	}
	if found != nil {
		p.Capacity = capacitySectionOf(found)
	}
	for _, c := range sideBySide(drawn) {
		p.Charts = append(p.Charts, curvesPicture(&c.Chart, "", c.curves))
	}
	for _, g := range drawGroups(drawn) {
		s := g.section()
		if p.More != "" {
			s.Notes = append(s.Notes, p.More)
		}
		p.Together = append(p.Together, s)
	}
	p.addTrials(drawn)
	p.Problems = slices.Concat(run.Problems, problems)
	return p
}

// addTrials adds the sections about trials. If there is only one trial, its section is unfolded.
func (p *page) addTrials(drawn []drawnRow) {
	for i := range drawn {
		p.Trials = append(p.Trials, newTrialRow(&drawn[i]))
	}
	if len(p.Trials) == 1 {
		p.Trials[0].Open = true
		if len(p.Trials[0].Trials) == 1 {
			p.Trials[0].Trials[0].Open = true
		}
	}
}

// addRows adds the tables with all trials, and the trials' verdicts and notes.
func (p *page) addRows(run *record.Run, rows []*analyze.Row) {
	tables := append(analyze.Tables(rows), analyze.WatchTables(rows)...)
	for i := range tables {
		p.Sheets = append(p.Sheets, limitRows(report.TableOf(&tables[i])))
	}
	for _, table := range faults.OutageTables(rows) {
		p.OutageTables = append(p.OutageTables, limitRows(report.TableOf(&table)))
	}
	for _, c := range outages(rows) {
		p.Outages = append(p.Outages, newPicture(&c, "", "outages"))
	}
	p.Facts = analyze.SharedConditions(run, rows)
	reason, notes := analyze.Reasons(run)
	p.Verdicts, p.Notes = sentencesWithTrials(reason, run), sentencesWithTrials(notes, run)
}

// repeatsOf returns the commands that repeat the runs on the page. It omits runs that were not made
// from a scenario, and capacity searches, because the command run does not repeat a search.
func repeatsOf(run *record.Run) (all []repeat) {
	for _, p := range run.PartsOrSelf() {
		if p.Scenario == "" || p.Capacity != nil || p.CapacityByParameter != nil {
			continue
		}
		// Comments in the scenario are not recorded. Each comment leaves a blank line.
		r := repeat{Command: repeatCommand(p), Scenario: strings.Trim(p.Scenario, "\n")}
		if len(run.Parts) > 0 {
			r.RunName = p.Name
		}
		all = append(all, r)
	}
	return all
}

// repeatCommand returns the command that repeats a run, with the flags that change the scenario. A
// placeholder stands for each value that is not recorded, because it may contain a password.
func repeatCommand(run *record.Run) string {
	words := []string{"quorumbench", "run", "SCENARIO.yaml", "--seed", strconv.FormatUint(run.Seed, 10)}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, text.ShellQuote(value))
		}
	}
	if run.Scale != 0 {
		add("--scale", fmt.Sprintf("%g", run.Scale))
	}
	given := &run.CommandLine
	store := given.Store
	if given.Version != "" {
		store += "@" + given.Version
	}
	add("--store", store)
	add("--exec", given.Exec)
	for _, s := range given.Set {
		switch {
		case s == "user":
			s += "=NAME:PASSWORD"
		case !strings.Contains(s, "="):
			s += "=VALUE"
		}
		add("--set", s)
	}
	add("--data-dir", given.DataDir)
	if u := run.RepeatRule; u != nil {
		add("--until-precision", text.FormatShare(u.Precision))
		add("--at-most", text.FormatDuration(time.Duration(u.AtMostNS)))
		for _, m := range u.Metrics {
			add("--until-metric", m)
		}
	}
	return strings.Join(words, " ")
}
