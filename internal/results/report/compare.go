package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Comparison reports a run next to its baseline. It shows the conditions of both runs, the
// differences between the runs apart from the load, and one row for each trial that both runs
// contain.
func Comparison(c *compare.Comparison) Finding {
	f := Comparisons(c)
	f.parts = func(out layout) { comparisonParts(out, c) }
	return f
}

// CompareSchema is the schema of JSON objects with comparisons.
const CompareSchema = "quorumbench/compare/1"

// Comparisons reports several runs. Each run is compared with the same baseline, by the same
// figures.
func Comparisons(all ...*compare.Comparison) Finding {
	return Finding{
		parts: func(out layout) {
			for i, c := range all {
				if i > 0 {
					out.blank()
				}
				out.addLines(c.Run.Name + " of " + c.Run.Started.UTC().Format(time.RFC3339))
				comparisonParts(out, c)
			}
			addForests(out, all)
		},
		object: func() any {
			objects := []record.Object{}
			for _, c := range all {
				objects = append(objects, comparisonObject(c))
			}
			return record.Object{{Name: "schema", Value: CompareSchema}, {Name: "comparisons", Value: objects}}
		},
		rows: func() (columns []string, rows []record.Object) {
			for _, c := range all {
				if columns == nil { // also set if no comparison has a pair
					columns = namesOf(pairFields(c, &compare.Pair{New: []*record.Trial{{}}, Figures: c.Metrics.Figures}))
				}
				for i := range c.Pairs {
					rows = append(rows, pairFields(c, &c.Pairs[i]))
				}
			}
			return columns, rows
		},
	}
}

func comparisonParts(out layout, c *compare.Comparison) {
	tables := ComparisonTables(c)
	for i, t := range tables {
		if t.Heading != "" {
			out.heading(t.Heading)
			out.blank()
		}
		if len(t.Rows) > 0 {
			out.cells(t)
			out.blank()
		}
		for number, words := range t.Footnotes {
			out.addLines(footnote(number, words))
		}
		if out.addLines(t.Notes...); len(t.Notes) > 0 && i+1 < len(tables) {
			out.blank()
		}
	}
}

// ComparisonTables returns a comparison as two tables, each with notes: the conditions of both
// runs, and the changes. If no trial can be compared, it returns one table that has only notes.
func ComparisonTables(c *compare.Comparison) []*Table {
	head := comparisonHead(c)
	if len(c.Pairs) == 0 {
		return []*Table{{Heading: head, Notes: append([]string{"No trial has usable repeats on both sides. Repeat the runs on a quieter machine."}, omittedLines(c)...)}}
	}
	both, t := sides(c), c.Table()
	both.Heading, both.Notes = head, c.DifferenceSentences()
	table := TableOf(&t)
	table.Heading = ""
	table.Notes = append(table.Notes, compareNotes(c)...)
	return []*Table{both, table}
}

func comparisonHead(c *compare.Comparison) string {
	if c.Run == c.Base {
		return "Compared with the baseline in the same run"
	}
	return fmt.Sprintf("Compared with the baseline %s of %s", c.Base.Name, c.Base.Started.UTC().Format(time.RFC3339))
}

// sides returns a table with the conditions of the run and of its baseline, side by side.
func sides(c *compare.Comparison) *Table {
	t := &Table{indent: "  ", Columns: []analyze.Column{{LeftAligned: true}, {Title: "this run", LeftAligned: true}, {Title: "baseline", LeftAligned: true}}}
	for _, s := range c.Sides() {
		if s.Base == s.Current {
			s.Base = "same"
		}
		t.add(s.Condition, s.Current, s.Base)
	}
	return t
}

func compareNotes(c *compare.Comparison) []string {
	words := "Figures are medians of the usable repeats (valid and suspect). Changes are computed from " + c.ComparedFigures()
	if c.Metrics.UsesTimes() {
		words += "; percentiles refer to the service time"
		switch {
		case c.HasOpenLoops():
			words += ", or to the response time if the column \"clients\" shows a rate or if clients waited for connections"
		case c.ClientsWaited():
			words += ", or to the response time if clients waited for connections"
		}
	}
	lines := []string{words + "."}
	for _, f := range c.Metrics.Figures {
		if f.Figure.Summed() {
			lines = append(lines, fmt.Sprintf("For %s, the comparison uses the median of the repeats; the report of a run shows the sum over all repeats.", f.Title))
		}
	}
	if c.FamilySize == 0 {
		if c.TooFewRepeats() {
			lines = append(lines, fmt.Sprintf("An interval needs %d repeats on both sides.", analyze.MinRepeats))
		}
		return append(lines, omittedLines(c)...)
	}
	lines = append(lines, fmt.Sprintf("better, worse: the interval excludes 0; same: the interval is within ± %s.", text.Share(c.Margin)))
	if c.FamilySize > 1 {
		lines = append(lines, fmt.Sprintf("Holm's correction widened the intervals, because %s changes were tested together: if nothing differs, the chance that any change is called better or worse is 5 %%.",
			text.Count(uint64(c.FamilySize))))
	}
	if c.Disturbed() {
		lines = append(lines, "Some repeats were disturbed. The intervals estimate the change that the runs would show without the known disturbances. The more a disturbance may have changed a repeat, the less weight the repeat has. If disturbances may have affected one run more than the other, the interval is longer on one side, to cover this effect.")
	}
	if c.UsesRounds() {
		lines = append(lines, fmt.Sprintf("With at least %d rounds, each repeat is compared with the baseline's repeat in the same round, so drift between rounds cancels out. The interval is computed from the ratios of the rounds.", stats.MinRounds))
	}
	if c.Run != c.Base {
		lines = append(lines, "The two runs ran one after the other. If the machines changed between the runs, the reported change includes this effect, but the interval does not account for it.")
	}
	return append(lines, omittedLines(c)...)
}

// judgementText describes the judgment of a change in a few words.
func judgementText(c *analyze.Change) string {
	j := &c.Judgement
	switch {
	case j.Word != stats.Unclear:
		return string(j.Word)
	case c.IntervalLackReason != "":
		return fmt.Sprintf("%s: %s", j.Word, c.IntervalLackReason)
	case j.MoreIsLowerBound:
		return fmt.Sprintf("%s: needs at least %s", j.Word, text.Plural(uint64(j.MoreRepeats), "more repeat"))
	}
	return fmt.Sprintf("%s: needs %s", j.Word, text.Plural(uint64(j.MoreRepeats), "more repeat"))
}

// omittedLines lists the trials and repeats that the comparison did not use.
func omittedLines(c *compare.Comparison) (lines []string) {
	if len(c.LeftOut) > 0 {
		lines = append(lines, "Not used: "+strings.Join(c.LeftOut, "; ")+".")
	}
	if len(c.OnlyNew) > 0 {
		lines = append(lines, "Trials without a usable repeat in the baseline: "+strings.Join(c.OnlyNew, ", ")+".")
	}
	if len(c.OnlyBase) > 0 {
		lines = append(lines, "Trials without a usable repeat in this run: "+strings.Join(c.OnlyBase, ", ")+".")
	}
	return lines
}

// changeFields returns the fields for one figure in a pair of trials.
func changeFields(f *compare.Compared) (o record.Object) {
	c := &f.Change
	j := &c.Judgement
	o.Add("now", numberOrNil(analyze.FileNumber(f.Current), f.Current.Known))
	o.Add("baseline", numberOrNil(analyze.FileNumber(f.Base), f.Base.Known))
	o.Add("change", numberOrNil(c.Share, c.Known))
	o.Add("change_low", numberOrNil(c.Low, c.Interval))
	o.Add("change_high", numberOrNil(c.High, c.Interval))
	o.Add("result", string(j.Word))
	o.Add("more_repeats", numberOrNil(float64(j.MoreRepeats), j.MoreRepeats > 0))
	o.Add("p", numberOrNil(j.PValue, c.Interval))
	o.Add("p_adjusted", numberOrNil(j.AdjustedPValue, c.Interval))
	o.Add("corrected_low", numberOrNil(c.CorrectedLow, c.Interval))
	o.Add("corrected_high", numberOrNil(c.CorrectedHigh, c.Interval))
	return o
}

// comparisonObject returns the JSON object for a comparison.
func comparisonObject(c *compare.Comparison) (o record.Object) {
	rows := []record.Object{}
	for i := range c.Pairs {
		rows = append(rows, pairObject(&c.Pairs[i]))
	}
	o.Add("run", c.Run.Name)
	o.Add("run_started", c.Run.Started)
	o.Add("baseline", c.Base.Name)
	o.Add("baseline_started", c.Base.Started)
	o.Add("baseline_tool", c.Base.Tool)
	o.Add("within_run", c.Run == c.Base)
	o.Add("differences", orEmpty(c.DifferenceSentences()))
	o.Add("rows", rows)
	o.Add("margin", c.Margin)
	o.Add("judged_together", c.FamilySize)
	o.Add("left_out", orEmpty(c.LeftOut))
	o.Add("without_baseline", orEmpty(c.OnlyNew))
	o.Add("only_in_baseline", orEmpty(c.OnlyBase))
	return o
}

// pairLoad returns the fields that describe the load of a pair of trials.
func pairLoad(p *compare.Pair) (o record.Object) {
	t := p.New[0]
	o.Add("trial", p.Name)
	o.Add("operation", t.Operation)
	o.Add("consistency", t.Consistency)
	o.Add("value_size", t.ValueSize)
	o.Add("clients", t.Clients)
	o.Add("target", t.Target.String())
	return o
}

func pairObject(p *compare.Pair) record.Object {
	o := pairLoad(p)
	for i := range p.Figures {
		figure := changeFields(&p.Figures[i])
		figure.Add("repeats", [2]int{len(p.New), len(p.Base)}) // in this run and in the baseline
		o.Add(p.Figures[i].Figure.Key(), figure)
	}
	o.Add("verdict", analyze.WorstVerdict(p.AllNew))
	o.Add("baseline_verdict", analyze.WorstVerdict(p.AllBase))
	o.Add("repeats_left_out", p.LeftOut())
	o.Add("repeats_share_cluster", p.Dependent)
	o.Add("intervals_of_rounds", p.UsesRounds())
	return o
}

// pairFields returns the CSV row for a pair of trials.
func pairFields(c *compare.Comparison, p *compare.Pair) record.Object {
	o := pairLoad(p)
	o.Add("repeats", len(p.New))
	o.Add("baseline_repeats", len(p.Base))
	for i := range p.Figures {
		key := p.Figures[i].Figure.Key()
		for _, f := range changeFields(&p.Figures[i]) {
			name := strings.TrimSuffix(key, "_ns") + "_" + f.Name
			switch f.Name {
			case "now":
				name = key
			case "baseline":
				name = "baseline_" + key
			}
			o.Add(name, f.Value)
		}
	}
	o.Add("verdict", string(analyze.WorstVerdict(p.AllNew)))
	o.Add("baseline_verdict", string(analyze.WorstVerdict(p.AllBase)))
	o.Add("run", c.Run.Name)
	o.Add("baseline", c.Base.Name)
	return o
}
