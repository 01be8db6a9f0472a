package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Compare writes a run beside its baseline: both runs' conditions, what
// differs between them beside the load, and a row for each trial of both.
func Compare(w io.Writer, c *analyze.Comparison) error { return compare(w, c, &textLayout) }

// CompareMarkdown writes the same as Markdown.
func CompareMarkdown(w io.Writer, c *analyze.Comparison) error {
	return compare(w, c, &markdownLayout)
}

// Comparisons writes several runs beside one baseline.
func Comparisons(w io.Writer, all []*analyze.Comparison) error {
	return comparisons(w, all, &textLayout)
}

// ComparisonsMarkdown writes the same as Markdown.
func ComparisonsMarkdown(w io.Writer, all []*analyze.Comparison) error {
	return comparisons(w, all, &markdownLayout)
}

func comparisons(w io.Writer, all []*analyze.Comparison, as *layout) error {
	between := ""
	for _, c := range all {
		name := as.sentence(c.Run.Name + " of " + c.Run.Started.UTC().Format(time.RFC3339))
		if _, err := io.WriteString(w, between+name+"\n"); err != nil {
			return err
		}
		if err := compare(w, c, as); err != nil {
			return err
		}
		between = "\n"
	}
	return nil
}

func compare(w io.Writer, c *analyze.Comparison, as *layout) error {
	var b bytes.Buffer
	sentences := func(lines []string) {
		for _, line := range lines {
			b.WriteString(as.sentence(line) + "\n")
		}
	}
	b.WriteString(as.heading(comparisonHead(c)) + "\n\n")
	if len(c.Pairs) == 0 {
		b.WriteString("No trial has a repeat on both sides that counts.\n")
		sentences(leftOut(c))
	} else {
		b.WriteString(as.table(sides(c)) + "\n")
		if sentences(c.Differences); len(c.Differences) > 0 {
			b.WriteString("\n")
		}
		t := c.Table()
		b.WriteString(as.table(gridOf(&t)) + "\n")
		for i, text := range t.Footnotes {
			sentences([]string{footnote(i, text)})
		}
		sentences(compareNotes(c))
	}
	_, err := b.WriteTo(w)
	return err
}

func comparisonHead(c *analyze.Comparison) string {
	if c.Run == c.Base {
		return "Compared with the baseline in the same run"
	}
	return fmt.Sprintf("Compared with the baseline %s of %s", c.Base.Name, c.Base.Started.UTC().Format(time.RFC3339))
}

// sides are the conditions of the run and of its baseline, side by side.
func sides(c *analyze.Comparison) *grid {
	g := &grid{indent: "  ", columns: []analyze.Column{{Left: true}, {Title: "this run", Left: true}, {Title: "baseline", Left: true}}}
	for _, s := range c.Sides() {
		if s.Base == s.Now {
			s.Base = "the same"
		}
		g.add(s.What, s.Now, s.Base)
	}
	return g
}

func compareNotes(c *analyze.Comparison) []string {
	words := "Figures are medians of the repeats that count, as in the report; changes are of " + c.ChangesOf()
	if c.By.Times() {
		words += "; percentiles are of the service time"
		switch {
		case c.Open():
			words += ", and of the response time where the clients' column has a rate, or where clients waited for connections"
		case c.Waiting():
			words += ", and of the response time where clients waited for connections"
		}
	}
	lines := []string{words + "."}
	for _, f := range c.By.Figures {
		if f.Figure.Summed() {
			lines = append(lines, fmt.Sprintf("Of %s the median repeat is compared; the report has the sum of all repeats.", f.Title))
		}
	}
	if c.Family == 0 {
		if c.TooFewRepeats() {
			lines = append(lines, fmt.Sprintf("An interval needs %d repeats on both sides.", analyze.MinRepeats))
		}
		return append(lines, leftOut(c)...)
	}
	lines = append(lines, fmt.Sprintf("Better and worse: the interval leaves out 0; same: all of it lies within ± %s.", text.Share(c.Margin)))
	if c.Family > 1 {
		lines = append(lines, fmt.Sprintf("%s changes were judged together, by intervals wider than these (Holm's correction): where nothing differs, the chance that any of them is called better or worse is 5 %%.",
			text.Count(uint64(c.Family))))
	}
	if c.Disturbed() {
		lines = append(lines, "Repeats were disturbed: intervals are of the change without what disturbed them, as far as that is known. A repeat counts the less, the more its figure can be off, and where one side can be off by more than the other the interval is as much longer in that direction.")
	}
	if c.OfRounds() {
		lines = append(lines, fmt.Sprintf("From %d rounds on intervals are of the rounds' ratios: a repeat is compared with the baseline's of the same round, and what drifted on the machine from round to round cancels.", stats.FewestRounds))
	}
	if c.Run != c.Base {
		lines = append(lines, "The runs were made one after the other: what changed on the machines between them is in the change and not in its interval.")
	}
	return append(lines, leftOut(c)...)
}

// result is the word for a change.
func result(c *analyze.Change) string {
	j := &c.Judged
	switch {
	case j.Word != stats.Unclear:
		return string(j.Word)
	case c.Lacking != "":
		return fmt.Sprintf("%s: %s", j.Word, c.Lacking)
	case j.AtLeast:
		return fmt.Sprintf("%s: %s or more repeats would tell", j.Word, text.Count(uint64(j.More)))
	}
	return fmt.Sprintf("%s: %s would tell", j.Word, text.Plural(uint64(j.More), "more repeat"))
}

// leftOut says what is not in the table, or not in its means.
func leftOut(c *analyze.Comparison) (lines []string) {
	if len(c.LeftOut) > 0 {
		lines = append(lines, "Left out: "+strings.Join(c.LeftOut, "; ")+".")
	}
	if len(c.OnlyNew) > 0 {
		lines = append(lines, "Without a repeat of the baseline that counts: "+strings.Join(c.OnlyNew, ", ")+".")
	}
	if len(c.OnlyBase) > 0 {
		lines = append(lines, "With repeats that count in the baseline alone: "+strings.Join(c.OnlyBase, ", ")+".")
	}
	return lines
}

// known is a number as JSON has it: null where it is not known.
func known(x float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &x
}

// named is a field of an object, and a column.
type named struct {
	name  string
	value any // a *float64, which may be nil, or text
}

// cell is the field in a CSV file.
func (n *named) cell() string {
	text, ok := n.value.(string)
	if x, _ := n.value.(*float64); !ok && x != nil {
		text = strconv.FormatFloat(*x, 'f', -1, 64)
	}
	return text
}

// changes are a figure of a pair as JSON and CSV have it.
func changes(f *analyze.Compared) []named {
	c := &f.Change
	j := &c.Judged
	return []named{
		{"now", known(analyze.InFile(f.Now), f.Now.Known)}, {"baseline", known(analyze.InFile(f.Base), f.Base.Known)}, {"change", known(c.Share, c.Known)},
		{"change_low", known(c.Low, c.Interval)}, {"change_high", known(c.High, c.Interval)},
		{"result", string(j.Word)}, {"more_repeats", known(float64(j.More), j.More > 0)},
		{"p", known(j.P, c.Interval)}, {"p_adjusted", known(j.Adjusted, c.Interval)},
		{"corrected_low", known(c.CorrectedLow, c.Interval)}, {"corrected_high", known(c.CorrectedHigh, c.Interval)},
	}
}

// compared is a comparison as JSON has it.
func compared(c *analyze.Comparison) (o record.Object) {
	rows := []record.Object{}
	for i := range c.Pairs {
		rows = append(rows, comparedPair(&c.Pairs[i]))
	}
	o.Add("run", c.Run.Name)
	o.Add("run_started", c.Run.Started)
	o.Add("baseline", c.Base.Name)
	o.Add("baseline_started", c.Base.Started)
	o.Add("baseline_tool", c.Base.Tool)
	o.Add("within_run", c.Run == c.Base)
	o.Add("differences", orEmpty(c.Differences))
	o.Add("rows", rows)
	o.Add("margin", c.Margin)
	o.Add("judged_together", c.Family)
	o.Add("left_out", orEmpty(c.LeftOut))
	o.Add("without_baseline", orEmpty(c.OnlyNew))
	o.Add("only_in_baseline", orEmpty(c.OnlyBase))
	return o
}

func comparedPair(p *analyze.Pair) (o record.Object) {
	t := p.New[0]
	o.Add("trial", p.Name)
	o.Add("operation", t.Operation)
	o.Add("consistency", t.Consistency)
	o.Add("value_size", t.ValueSize)
	o.Add("clients", t.Clients)
	o.Add("target", t.Target.String())
	for i := range p.Figures {
		var figure record.Object
		for _, f := range changes(&p.Figures[i]) {
			figure.Add(f.name, f.value)
		}
		figure.Add("repeats", [2]int{len(p.New), len(p.Base)}) // here, and in the baseline
		o.Add(p.Figures[i].Figure.Key(), figure)
	}
	o.Add("verdict", analyze.Worst(p.AllNew))
	o.Add("baseline_verdict", analyze.Worst(p.AllBase))
	o.Add("repeats_left_out", p.LeftOut())
	o.Add("repeats_share_cluster", p.Dependent)
	o.Add("intervals_of_rounds", p.OfRounds())
	return o
}

// RunJSON writes a run as one JSON object, as run.json has it, with how sure the
// trials' figures are in its field certainty and the comparisons, if there are any,
// in its field comparisons.
func RunJSON(w io.Writer, run *record.Run, all []*analyze.Comparison) error {
	return writeJSON(w, runObject(run, all))
}

// RunsSchema is the schema of what RunsJSON writes.
const RunsSchema = "quorumbench/runs/1"

// RunsJSON writes several runs as one JSON object, each as RunJSON writes it, with
// the comparison with baselines of its own.
func RunsJSON(w io.Writer, runs []*record.Run) error {
	objects := make([]any, 0, len(runs))
	for _, run := range runs {
		var within []*analyze.Comparison
		if c := analyze.Within(run); c != nil {
			within = append(within, c)
		}
		objects = append(objects, runObject(run, within))
	}
	var o record.Object
	o.Add("schema", RunsSchema)
	o.Add("runs", objects)
	return writeJSON(w, o)
}

func runObject(run *record.Run, all []*analyze.Comparison) any {
	object := struct {
		*record.Run
		Certainty   []record.Object `json:"certainty"`
		Broken      []record.Object `json:"broken,omitempty"`
		Comparisons []record.Object `json:"comparisons,omitempty"`
	}{Run: run, Certainty: []record.Object{}}
	rows := analyze.Rows(run)
	object.Broken = brokenObjects(rows)
	for _, r := range rows {
		var o record.Object
		o.Add("trial", r.First().Name)
		for _, c := range certainties(r) {
			o.Add(c.name, c.value)
		}
		o.Add("repeats_share_cluster", r.Dependent)
		object.Certainty = append(object.Certainty, o)
	}
	for _, c := range all {
		object.Comparisons = append(object.Comparisons, compared(c))
	}
	return object
}

// CompareSchema is the schema of what ComparisonsJSON writes.
const CompareSchema = "quorumbench/compare/1"

// ComparisonsJSON writes comparisons as one JSON object and a newline.
func ComparisonsJSON(w io.Writer, all []*analyze.Comparison) error {
	var o record.Object
	objects := []record.Object{}
	for _, c := range all {
		objects = append(objects, compared(c))
	}
	o.Add("schema", CompareSchema)
	o.Add("comparisons", objects)
	return writeJSON(w, o)
}

// JSON writes the trial as exactly one JSON object and a newline.
func JSON(w io.Writer, t *record.Trial) error { return writeJSON(w, t) }

func writeJSON(w io.Writer, object any) error {
	b, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// CompareCSV writes the rows of comparisons by the same figures. What is not
// known is empty.
func CompareCSV(w io.Writer, all ...*analyze.Comparison) error {
	var rows [][]string
	for _, c := range all {
		if rows == nil { // also without a pair
			head, _ := pairCells(c, &analyze.Pair{New: []*record.Trial{{}}, Figures: c.By.Figures})
			rows = append(rows, head)
		}
		for i := range c.Pairs {
			_, row := pairCells(c, &c.Pairs[i])
			rows = append(rows, row)
		}
	}
	return writeCSV(w, rows)
}

func pairCells(c *analyze.Comparison, p *analyze.Pair) (names, cells []string) {
	add := func(name, words string) { names, cells = append(names, name), append(cells, words) }
	t, word := p.New[0], text.Cell
	add("trial", word(p.Name))
	add("operation", word(t.Operation))
	add("consistency", word(t.Consistency))
	add("value_size", strconv.Itoa(t.ValueSize))
	add("clients", strconv.Itoa(t.Clients))
	add("target", word(t.Target.String()))
	add("repeats", strconv.Itoa(len(p.New)))
	add("baseline_repeats", strconv.Itoa(len(p.Base)))
	for i := range p.Figures {
		key := p.Figures[i].Figure.Key()
		plain := strings.TrimSuffix(key, "_ns")
		for _, f := range changes(&p.Figures[i]) {
			name := plain + "_" + f.name
			switch f.name {
			case "now":
				name = key
			case "baseline":
				name = "baseline_" + key
			}
			add(name, f.cell())
		}
	}
	add("verdict", word(string(analyze.Worst(p.AllNew))))
	add("baseline_verdict", word(string(analyze.Worst(p.AllBase))))
	add("run", word(c.Run.Name))
	add("baseline", word(c.Base.Name))
	return names, cells
}
