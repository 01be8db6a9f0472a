package web

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// agreeing returns a recorded run with seven repeats of one trial. The report uses five of the
// repeats, which have different throughputs. It excludes the other two repeats, which have very
// different figures.
func agreeing(t *testing.T) *record.Run {
	run := opened(t, made{name: "agree", seconds: 12, trials: 7}.record(t))
	for i, perSecond := range []float64{5200, 9800, 5896, 6421, 6575, 120, 6300} {
		x := &run.Trials[i]
		x.Number, x.Repeat, x.Repeats, x.Name, x.PerSecond = 1, i+1, 7, "put", perSecond
		x.Verdict = verdict.Verdict{State: verdict.Valid}
		switch i {
		case 1:
			x.Verdict = verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{{Rule: 3, Text: "1 answer was wrong"}}}
		case 5:
			x.State = record.Interrupted
		}
	}
	return run
}

// formats holds the report of a run in every format.
type formats struct {
	text, markdown, page, compare string // without markup, as a reader sees it
	json, csv, bench, compareJSON []byte
}

func formatsOf(t *testing.T, run *record.Run) formats {
	t.Helper()
	print := func(to func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		must(t, to(&b))
		return b.Bytes()
	}
	kept, leftOut := analyze.ComparableTrials(run)
	c, err := compare.Compare(run, run, compare.DefaultMetrics())
	must(t, err)
	page := string(print(func(b *bytes.Buffer) error { return HTML(b, run, nil) }))
	return formats{
		text:        string(print(func(b *bytes.Buffer) error { return report.Text(b, report.Run(run, nil, "run"), true) })),
		markdown:    string(print(func(b *bytes.Buffer) error { return report.Markdown(b, report.Run(run, nil, "")) })),
		page:        html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")),
		compare:     string(print(func(b *bytes.Buffer) error { return report.Text(b, report.Comparison(c), true) })),
		json:        print(func(b *bytes.Buffer) error { return report.JSON(b, report.Run(run, nil, "")) }),
		csv:         print(func(b *bytes.Buffer) error { return report.CSV(b, report.Trials(run, scenario.Parameters(nil))) }),
		bench:       print(func(b *bytes.Buffer) error { return report.GoBench(b, run, kept, leftOut) }),
		compareJSON: print(func(b *bytes.Buffer) error { return report.JSON(b, report.Comparison(c)) }),
	}
}

// Reports in all formats show the same figures and intervals for a trial, and the same bottlenecks
// for the same trials. A comparison of the run with itself also shows these figures.
func TestFormatsAgree(t *testing.T) {
	settle.SkipUnderRace(t)
	all := map[string]*record.Run{"made": agreeing(t)}
	for _, name := range runs.Recorded(t) {
		all[name] = opened(t, runs.Unpack(t, t.TempDir(), name))
	}
	if len(all) < 6 {
		t.Fatalf("only %d recorded runs", len(all))
	}
	for name, run := range all {
		t.Run(name, func(t *testing.T) {
			f := formatsOf(t, run)
			for i, r := range analyze.Rows(run) {
				figureAgrees(t, &f, r, i)
			}
			causesAgree(t, &f, run)
		})
	}
	ops := figures.Registered("ops")
	if v, _ := analyze.Rows(all["made"])[0].Figure(&ops); v.Number != 6300 { // the median of 5200, 5896, 6300, 6421 and 6575
		t.Errorf("the made run's usable repeats have the median %v", v)
	}
}

// figureAgrees compares the throughput and p99 of a row in all formats.
func figureAgrees(t *testing.T, f *formats, r *analyze.Row, row int) {
	t.Helper()
	var object struct {
		Certainty []map[string]any `json:"certainty"`
	}
	must(t, json.Unmarshal(f.json, &object))
	var comparison struct {
		Comparisons []struct {
			Rows []map[string]any `json:"rows"`
		} `json:"comparisons"`
	}
	must(t, json.Unmarshal(f.compareJSON, &comparison))
	table, err := csv.NewReader(bytes.NewReader(f.csv)).ReadAll()
	must(t, err)
	for _, name := range []string{"ops", "p99"} {
		figure := figures.Registered(name)
		v, _ := r.Figure(&figure)
		if !v.Known {
			continue
		}
		shown, key := report.Value(v), "operations_per_second_median"
		inText := map[string]string{"text": f.text, "markdown": f.markdown, "page": f.page}
		if name == "ops" {
			inText["compare"] = f.compare
			compared := comparison.Comparisons[0].Rows[row]["operations_per_second"].(map[string]any)
			if compared["now"] != v.Number || compared["baseline"] != v.Number {
				t.Errorf("%s: compare prints %v, and the report prints %v", r.First().Name, compared, v)
			}
		} else {
			key = "p99_median_ns"
		}
		for in, text := range inText {
			if !strings.Contains(text, shown) {
				t.Errorf("%s of %s: %s lacks %s", name, r.First().Name, in, shown)
			}
		}
		if got := object.Certainty[row][key]; got != analyze.FileNumber(v) {
			t.Errorf("%s: %s is %v in the JSON output, and %v in the report", r.First().Name, key, got, v)
		}
		for _, cells := range table[1:] {
			if got, _ := strconv.ParseFloat(cells[slices.Index(table[0], key)], 64); cells[slices.Index(table[0], "name")] == r.First().Name && got != analyze.FileNumber(v) {
				t.Errorf("%s: %s is %v in the CSV output, and %v in the report", r.First().Name, key, got, v)
			}
		}
		if sure, ok := analyze.CertaintyOf(r, &figure); ok && !sure.RunTooShort && !(sure.Low.Number <= v.Number && (sure.High.Failed || v.Number <= sure.High.Number)) {
			t.Errorf("%s: %v is not within %+v", r.First().Name, v, sure)
		}
	}
	benchAgrees(t, f, r)
}

// benchAgrees compares the median of the lines in the Go benchmark format with the figure in the
// report.
func benchAgrees(t *testing.T, f *formats, r *analyze.Row) {
	t.Helper()
	var each []float64
	lines := benchfmt.NewReader(bytes.NewReader(f.bench), "bench")
	for lines.Scan() {
		one, ok := lines.Result().(*benchfmt.Result)
		if !ok || !strings.Contains(string(one.Name)+"/", "/trial="+r.First().Name+"/") {
			continue
		}
		if v, ok := one.Value("ops/s"); ok {
			each = append(each, v)
		}
	}
	ops := figures.Registered("ops")
	v, _ := r.Figure(&ops)
	slices.Sort(each)
	if len(each) != len(r.ComparableTrials()) || len(each) > 0 && each[(len(each)-1)/2] != v.Number {
		t.Errorf("%s: gobench prints %v, and the report prints %v", r.First().Name, each, v)
	}
}

// causesAgree checks that the text and the page list the same bottlenecks for the same trials.
func causesAgree(t *testing.T, f *formats, run *record.Run) {
	t.Helper()
	for _, cause := range limits.FindShared(analyze.TrialsInOrder(run)) {
		line := report.SharedLimitText(&cause)
		for in, text := range map[string]string{"text": f.text, "markdown": f.markdown, "page": f.page} {
			if !strings.Contains(text, line) {
				t.Errorf("%s lacks %q", in, line)
			}
		}
		named := cause.Trials
		if n := len(run.Trials); cause.Count == n && n > 1 {
			named = []string{"all trials"}
		}
		for _, who := range named {
			if limited := f.text[strings.Index(f.text, "Bottlenecks"):]; len(run.Trials) > 1 && !strings.Contains(limited, who) {
				t.Errorf("the text does not name %s", who)
			}
			if !strings.Contains(f.page, who) {
				t.Errorf("the page does not name %s", who)
			}
		}
	}
}
