package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// compared is a comparison as JSON has it.
type compared struct {
	Name        string         `json:"baseline"`
	Started     time.Time      `json:"baseline_started"`
	Tool        record.Tool    `json:"baseline_tool"`
	Within      bool           `json:"within_run"` // the baseline is of the same run
	Differences []string       `json:"differences"`
	Rows        []comparedPair `json:"rows"`
	// Tests is how many intervals there are, each a test at 5 %, and ByChance
	// how many of them are expected, at most, to leave 0 out by chance.
	Tests    int      `json:"tests"`
	ByChance float64  `json:"expected_by_chance"`
	LeftOut  []string `json:"left_out"`
	OnlyNew  []string `json:"without_baseline"`
	OnlyBase []string `json:"only_in_baseline"`
}

type comparedPair struct {
	Trial       string  `json:"trial"`
	Operation   string  `json:"operation"`
	Consistency string  `json:"consistency"`
	ValueSize   int     `json:"value_size"`
	Clients     int     `json:"clients"`
	Target      string  `json:"target"`
	QPS         changed `json:"operations_per_second"`
	// Of the service time in a closed loop, the response time in an open one.
	P90         changed       `json:"p90_ns"`
	Verdict     verdict.State `json:"verdict"`
	BaseVerdict verdict.State `json:"baseline_verdict"`
	// Repeats that are in no median, here and in the baseline.
	LeftOut [2]int `json:"repeats_left_out"`
	// Dependent says that repeats of a side ran on one cluster.
	Dependent bool `json:"repeats_share_cluster"`
}

// changed is a figure and its baseline; null is not known.
type changed struct {
	Now     *float64 `json:"now"`
	Base    *float64 `json:"baseline"`
	Change  *float64 `json:"change"` // as a share
	Low     *float64 `json:"change_low"`
	High    *float64 `json:"change_high"`
	Repeats [2]int   `json:"repeats"` // here, and in the baseline
}

func changeOf(now, base measure.Figure, c analyze.Change, p *analyze.Pair) changed {
	known := func(x float64, ok bool) *float64 {
		if !ok {
			return nil
		}
		return &x
	}
	return changed{
		Now: known(now.NS, now.Known), Base: known(base.NS, base.Known), Change: known(c.Share, c.Known),
		Low: known(c.Low, c.Interval), High: known(c.High, c.Interval), Repeats: [2]int{len(p.New), len(p.Base)},
	}
}

func comparedRows(c *analyze.Comparison) []comparedPair {
	rows := []comparedPair{}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		t := p.New[0]
		row := comparedPair{Trial: p.Name, Operation: t.Operation, Consistency: t.Consistency, ValueSize: t.ValueSize,
			Clients: t.Clients, Target: t.Target.String(), Verdict: worst(p.AllNew), BaseVerdict: worst(p.AllBase), Dependent: p.Dependent,
			LeftOut: [2]int{len(p.AllNew) - len(p.New), len(p.AllBase) - len(p.Base)},
			QPS:     changeOf(p.QPS, p.BaseQPS, p.QPSChange, p), P90: changeOf(p.P90, p.BaseP90, p.P90Change, p)}
		rows = append(rows, row)
	}
	return rows
}

func worst(trials []*record.Trial) verdict.State {
	state := verdict.Valid
	for _, t := range trials {
		if t.Verdict.State.Worse(state) {
			state = t.Verdict.State
		}
	}
	return state
}

// RunJSON writes a run as one JSON object, as run.json has it, with the
// comparisons, if there are any, in its field comparisons.
func RunJSON(w io.Writer, run *record.Run, all []*analyze.Comparison) error {
	object := struct {
		*record.Run
		Comparisons []compared `json:"comparisons,omitempty"`
	}{Run: run}
	for _, c := range all {
		made, byChance := c.Tests()
		object.Comparisons = append(object.Comparisons, compared{Tests: made, ByChance: byChance, LeftOut: orEmpty(c.LeftOut), Name: c.Base.Name, Started: c.Base.Started, Tool: c.Base.Tool, Within: c.Run == c.Base,
			Differences: orEmpty(c.Differences), Rows: comparedRows(c), OnlyNew: orEmpty(c.OnlyNew), OnlyBase: orEmpty(c.OnlyBase)})
	}
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
	rows := [][]string{{"trial", "operation", "consistency", "value_size", "clients", "target", "repeats", "baseline_repeats",
		"operations_per_second", "baseline_operations_per_second", "operations_per_second_change", "operations_per_second_change_low", "operations_per_second_change_high",
		"p90_ns", "baseline_p90_ns", "p90_change", "p90_change_low", "p90_change_high", "verdict", "baseline_verdict"}}
	for _, p := range comparedRows(c) {
		word := printable.Cell
		row := []string{word(p.Trial), word(p.Operation), word(p.Consistency), strconv.Itoa(p.ValueSize), strconv.Itoa(p.Clients), word(p.Target),
			strconv.Itoa(p.QPS.Repeats[0]), strconv.Itoa(p.QPS.Repeats[1])}
		for _, f := range []changed{p.QPS, p.P90} {
			for _, x := range []*float64{f.Now, f.Base, f.Change, f.Low, f.High} {
				row = append(row, orEmptyCell(x))
			}
		}
		rows = append(rows, append(row, word(string(p.Verdict)), word(string(p.BaseVerdict))))
	}
	return writeCSV(w, rows)
}

func orEmptyCell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
