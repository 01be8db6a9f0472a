package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// changed is a figure and its baseline as JSON has it; null is not known.
type changed struct {
	Now     *float64 `json:"now"`
	Base    *float64 `json:"baseline"`
	Change  *float64 `json:"change"` // as a share
	Low     *float64 `json:"change_low"`
	High    *float64 `json:"change_high"`
	Repeats [2]int   `json:"repeats"` // here, and in the baseline
}

func changedIn(f *analyze.Compared, p *analyze.Pair) changed {
	known := func(x float64, ok bool) *float64 {
		if !ok {
			return nil
		}
		return &x
	}
	return changed{
		Now: known(f.Now.Number, f.Now.Known), Base: known(f.Base.Number, f.Base.Known), Change: known(f.Change.Share, f.Change.Known),
		Low: known(f.Change.Low, f.Change.Interval), High: known(f.Change.High, f.Change.Interval), Repeats: [2]int{len(p.New), len(p.Base)},
	}
}

// compared is a comparison as JSON has it.
func compared(c *analyze.Comparison) (o record.Object) {
	rows := []record.Object{}
	for i := range c.Pairs {
		rows = append(rows, comparedPair(&c.Pairs[i]))
	}
	made, byChance := c.Tests()
	o.Add("baseline", c.Base.Name)
	o.Add("baseline_started", c.Base.Started)
	o.Add("baseline_tool", c.Base.Tool)
	o.Add("within_run", c.Run == c.Base)
	o.Add("differences", orEmpty(c.Differences))
	o.Add("rows", rows)
	o.Add("tests", made)
	o.Add("expected_by_chance", byChance)
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
		o.Add(p.Figures[i].Figure.Key(), changedIn(&p.Figures[i], p))
	}
	o.Add("verdict", analyze.Worst(p.AllNew))
	o.Add("baseline_verdict", analyze.Worst(p.AllBase))
	o.Add("repeats_left_out", p.LeftOut())
	o.Add("repeats_share_cluster", p.Dependent)
	return o
}

// RunJSON writes a run as one JSON object, as run.json has it, with the
// comparisons, if there are any, in its field comparisons.
func RunJSON(w io.Writer, run *record.Run, all []*analyze.Comparison) error {
	object := struct {
		*record.Run
		Comparisons []record.Object `json:"comparisons,omitempty"`
	}{Run: run}
	for _, c := range all {
		object.Comparisons = append(object.Comparisons, compared(c))
	}
	return writeJSON(w, object)
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

// CompareCSV writes a comparison's rows. What is not known is empty.
func CompareCSV(w io.Writer, c *analyze.Comparison) error {
	head := []string{"trial", "operation", "consistency", "value_size", "clients", "target", "repeats", "baseline_repeats"}
	for _, f := range analyze.ComparedFigures() {
		key := f.Figure.Key()
		change := strings.TrimSuffix(key, "_ns") + "_change"
		head = append(head, key, "baseline_"+key, change, change+"_low", change+"_high")
	}
	rows := [][]string{append(head, "verdict", "baseline_verdict")}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		t, word := p.New[0], printable.Cell
		row := []string{word(p.Name), word(t.Operation), word(t.Consistency), strconv.Itoa(t.ValueSize), strconv.Itoa(t.Clients), word(t.Target.String()),
			strconv.Itoa(len(p.New)), strconv.Itoa(len(p.Base))}
		for i := range p.Figures {
			f := changedIn(&p.Figures[i], p)
			for _, x := range []*float64{f.Now, f.Base, f.Change, f.Low, f.High} {
				row = append(row, orEmptyCell(x))
			}
		}
		rows = append(rows, append(row, word(string(analyze.Worst(p.AllNew))), word(string(analyze.Worst(p.AllBase)))))
	}
	return writeCSV(w, rows)
}

func orEmptyCell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
