package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// matrix returns a run with two trials and the given number of repeats. factor multiplies the
// throughput.
func matrix(repeats int, factor float64) *record.Run {
	var all []made
	for repeat := range repeats {
		noise := 1 + 0.02*float64(repeat)
		for i, size := range []int{64, 256} {
			all = append(all, made{number: i + 1, repeat: repeat + 1, repeats: repeats, name: fmt.Sprintf("put-%d", size), kind: kv.Put,
				target: "leader", perSecond: int(500 * factor * noise), p50: 50e6 / factor / noise, clients: 25})
		}
	}
	r := run(record.Complete, all...)
	for i := range r.Trials {
		r.Trials[i].ValueSize = []int{64, 256}[r.Trials[i].Number-1]
	}
	r.Tool = record.Tool{Version: "0.2.0", Revision: "abc", Go: "go1.26.8"}
	return r
}

func compareRuns(t *testing.T, now, base *record.Run) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(now, base, compare.DefaultMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareTable(t *testing.T) {
	settle.SkipUnderRace(t)
	base := matrix(5, 1)
	base.Started = noon.Add(-time.Hour)
	for i := range base.Trials {
		base.Trials[i].Version = "3.6.1"
	}
	c := compareRuns(t, matrix(5, 1.25), base)
	var text, markdown bytes.Buffer
	if err := Text(&text, Comparison(c), true); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.txt", text.String())
	if err := Markdown(&markdown, Comparison(c)); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.md", markdown.String())
}

// TestCompareWithoutIntervals compares a run of four repeats with itself. The table shows no
// change, a dash instead of an interval, and how many more repeats are needed.
func TestCompareWithoutIntervals(t *testing.T) {
	settle.SkipUnderRace(t)
	r := matrix(4, 1)
	again := *r
	c := compareRuns(t, r, &again)
	for _, p := range c.Pairs {
		if p.Figures[0].Change.Share != 0 || p.Figures[1].Change.Share != 0 || p.Figures[0].Change.Interval {
			t.Errorf("%s differs from itself: %+v", p.Name, p)
		}
	}
	var b bytes.Buffer
	if err := Text(&b, Comparison(c), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+0.0 %              -  unclear: needs at least 1 more repeat", "An interval needs 5 repeats on both sides."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// changed is a figure of a comparison in JSON.
type changed struct {
	Now     *float64 `json:"now"`
	Base    *float64 `json:"baseline"`
	Change  *float64 `json:"change"`
	Low     *float64 `json:"change_low"`
	High    *float64 `json:"change_high"`
	Repeats [2]int   `json:"repeats"`
	Result  string   `json:"result"`
}

// comparison holds those fields of the JSON that the tests use.
type comparison struct {
	Schema      string `json:"schema"`
	Comparisons []struct {
		Rows []struct {
			QPS         changed       `json:"operations_per_second"`
			P90         changed       `json:"p90_ns"`
			BaseVerdict verdict.State `json:"baseline_verdict"`
			LeftOut     [2]int        `json:"repeats_left_out"`
		} `json:"rows"`
	} `json:"comparisons"`
}

func comparedAsJSON(t *testing.T, run *record.Run, c *compare.Comparison) (object comparison) {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, Run(run, []*compare.Comparison{c}, "")); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestCompareAsData checks that JSON and CSV have the same rows, with the figures of the table.
func TestCompareAsData(t *testing.T) {
	settle.SkipUnderRace(t)
	now, base := matrix(5, 0.5), matrix(5, 1)
	c := compareRuns(t, now, base)
	object := comparedAsJSON(t, now, c)
	rows := object.Comparisons[0].Rows
	if object.Schema != record.RunSchema || len(rows) != 2 || math.Abs(*rows[0].QPS.Change+0.5) > 0.01 || *rows[0].QPS.High >= 0 || *rows[0].P90.Low <= 0 || rows[0].QPS.Result != "worse" {
		t.Errorf("%+v", rows)
	}
	var b bytes.Buffer
	if err := CSV(&b, Comparison(c)); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(table) != 3 {
		t.Fatalf("%v rows, %v", len(table), err)
	}
	at := slices.Index(table[0], "operations_per_second_change_high")
	if table[1][at] != strconv.FormatFloat(*rows[0].QPS.High, 'f', -1, 64) {
		t.Errorf("CSV says %s, JSON %v", table[1][at], *rows[0].QPS.High)
	}
}

func TestBaselineWithinTheRun(t *testing.T) {
	settle.SkipUnderRace(t)
	r := matrix(5, 1)
	if compare.Baselines(r) != nil {
		t.Error("there is a comparison without a baseline")
	}
	old := matrix(5, 0.8)
	for i := range old.Trials {
		o := &old.Trials[i]
		o.BaselineOf, o.Name, o.Number, o.Version = o.Name, o.Name+"-baseline", o.Number+2, "3.5.0"
		o.Started = o.Started.Add(time.Duration(o.Repeat) * time.Minute)
		r.Trials[i].Started = o.Started.Add(time.Second)
	}
	r.Trials = append(r.Trials, old.Trials...)
	c := compare.Baselines(r)
	if c == nil || len(c.Pairs) != 2 || c.Pairs[0].Name != "put-64" || math.Abs(c.Pairs[0].Figures[0].Change.Share-0.25) > 0.01 || !c.Pairs[0].Figures[0].Change.Interval {
		t.Fatalf("%+v", c)
	}
	var b bytes.Buffer
	if err := Text(&b, Comparison(c), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in the same run", "The store's version differs: 3.7.3 here, 3.5.0 in the baseline.", "+25.0 %"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "rounds' ratios") || c.Pairs[0].UsesRounds() {
		t.Errorf("five rounds were compared as rounds, although they are too few:\n%s", b.String())
	}
	for i := range r.Trials { // the baseline runs completely before the other trials
		if r.Trials[i].BaselineOf != "" {
			r.Trials[i].Started = r.Trials[i].Started.Add(24 * time.Hour)
		}
	}
	if c := compare.Baselines(r); c.Pairs[0].Figures[0].Change.Interval {
		t.Error("repeats that are not interleaved have an interval")
	}
	for i := range r.Trials {
		r.Trials[i].Verdict.State = verdict.Invalid
	}
	by := compare.DefaultMetrics()
	c = compare.BaselinesWithMetrics(r, by)
	if c == nil || len(c.Pairs) > 0 || len(c.LeftOut) == 0 {
		t.Fatalf("a comparison of invalid repeats only is %+v", c)
	}
	if err := compare.CheckJudgeable([]*compare.Comparison{c}); err == nil {
		t.Error("CheckJudgeable returns no error although nothing could be judged")
	}
}

// TestBaselineWithinTheRunLeavesOutWholeRounds checks a run whose trials and baselines alternate.
// If a repeat does not count, the comparison also leaves out the other side's repeat in the same
// round. The report lists these repeats. It still warns if far more repeats of one side are
// disturbed.
func TestBaselineWithinTheRunLeavesOutWholeRounds(t *testing.T) {
	settle.SkipUnderRace(t)
	r := matrix(12, 1)
	old := matrix(12, 0.8)
	for i := range old.Trials {
		o := &old.Trials[i]
		o.BaselineOf, o.Name, o.Number = o.Name, o.Name+"-baseline", o.Number+2
		o.Started = noon.Add(time.Duration(o.Repeat) * time.Minute)
		r.Trials[i].Started = o.Started.Add(time.Second)
	}
	r.Trials = append(r.Trials, old.Trials...)
	spoil := func(name string, rounds ...int) {
		for i := range r.Trials {
			if x := &r.Trials[i]; x.Name == name && slices.Contains(rounds, x.Repeat) {
				x.Verdict.State, x.PerSecond = verdict.Invalid, 1
			}
		}
	}
	if c := compare.Baselines(r); !c.UsesRounds() || !c.Pairs[1].UsesRounds() || !slices.ContainsFunc(compareNotes(c), func(line string) bool {
		return strings.HasPrefix(line, "With at least 10 rounds, each repeat is compared")
	}) {
		t.Errorf("twelve rounds were not compared round by round: %q", compareNotes(c))
	}
	spoil("put-64", 1, 7)
	spoil("put-64-baseline", 7, 9)
	spoil("put-256", 2, 3, 4, 5)
	by := compare.DefaultMetrics()
	c := compare.BaselinesWithMetrics(r, by)
	rounds := func(trials []*record.Trial) (all []int) {
		for _, one := range trials {
			all = append(all, one.Repeat)
		}
		return all
	}
	for i, want := range [][]int{{2, 3, 4, 5, 6, 8, 10, 11, 12}, {1, 6, 7, 8, 9, 10, 11, 12}} {
		p := &c.Pairs[i]
		if !slices.Equal(rounds(p.New), want) || !slices.Equal(rounds(p.Base), want) || p.Figures[0].Base.Number < 300 || !p.Figures[0].Change.Interval {
			t.Errorf("%s: the rounds %v and %v are compared, want %v: %+v", p.Name, rounds(p.New), rounds(p.Base), want, p.Figures[0])
		}
	}
	const more = "1 more (the other side has no usable repeat in the same round)"
	for _, want := range []string{"put-64 here, " + more, "put-64 in the baseline, " + more, "put-256 in the baseline, 4" + more[1:]} {
		if !slices.Contains(c.LeftOut, want) {
			t.Errorf("%q is not in %q", want, c.LeftOut)
		}
	}
	const beware = "Warning: 33 % of the repeats of put-256 do not count here, and 0 % in the baseline. The difference under test may itself cause the disturbance."
	if len(c.Differences) != 1 || c.Differences[0] != beware {
		t.Errorf("the warnings are %q", c.Differences)
	}
	spoil("put-256-baseline", 1, 6, 7, 8, 9, 10, 11, 12)
	if c = compare.BaselinesWithMetrics(r, by); len(c.Pairs) != 1 || compare.CheckJudgeable([]*compare.Comparison{c}) == nil {
		t.Errorf("without a common round, %d pairs are compared", len(c.Pairs))
	}
}

// TestTrialThatCannotBeJudgedIsNamed checks that the error lists a trial if none of its repeats
// counts, even if other trials could be judged.
func TestTrialThatCannotBeJudgedIsNamed(t *testing.T) {
	settle.SkipUnderRace(t)
	r, base := matrix(5, 1), matrix(5, 1)
	for i := range r.Trials {
		if r.Trials[i].Name == "put-256" {
			r.Trials[i].Verdict.State = verdict.Invalid
		}
	}
	c, err := compare.Compare(r, base, compare.DefaultMetrics())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(c.Differences, func(d string) bool {
		return strings.HasPrefix(d, "Warning: 100 % of the repeats of put-256 do not count here, and 0 % in the baseline.")
	}) {
		t.Errorf("there is no warning about uneven repeats: %q", c.Differences)
	}
	compare.Judge(0.03, c)
	if err := compare.CheckJudgeable([]*compare.Comparison{c}); err == nil || !strings.HasSuffix(err.Error(), ": put-256") {
		t.Errorf("CheckJudgeable returns %v", err)
	}
}

func TestBaselineRefused(t *testing.T) {
	settle.SkipUnderRace(t)
	rate := 100.0
	for want, change := range map[string]func(*record.Trial){
		"have no trial name in common":                                           func(t *record.Trial) { t.Name += "x" },
		"the clients in put-64: 25 here, 10 in the baseline":                     func(t *record.Trial) { t.Clients = 10 },
		"the value's size in bytes in put-64: 64 here, 65 in the baseline":       func(t *record.Trial) { t.ValueSize++ },
		"the target in put-64: leader here, all in the baseline":                 func(t *record.Trial) { t.Target = kv.Target{Mode: kv.AllMembers} },
		"the total number of operations in put-64: none here, 9 in the baseline": func(t *record.Trial) { t.Total = 9 },
		"the arrival in put-64: closed here, poisson in the baseline":            func(t *record.Trial) { t.Arrival, t.Rate = scenario.Poisson, &rate },
		"the operations in put-64: put here, get in the baseline":                func(t *record.Trial) { t.Mix = []scenario.Operation{{Kind: kv.Get, Weight: 1}} },
		"a new connection for each operation in put-64: false here, tr":          func(t *record.Trial) { t.NewConnection = true },
	} {
		base := matrix(1, 1)
		for i := range base.Trials {
			change(&base.Trials[i])
		}
		if _, err := compare.Compare(matrix(1, 1), base, compare.DefaultMetrics()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	// A different machine or version is reported, but the runs are compared.
	base := matrix(1, 1)
	for i := range base.Trials {
		b := &base.Trials[i]
		m := *b.Machine
		m.CPUs = 16
		b.Machine, b.Members, b.TLS, b.Store = &m, 5, true, "zookeeper"
	}
	c := compareRuns(t, matrix(1, 1), base)
	all := strings.Join(c.Differences, "\n")
	for _, want := range []string{"The machine differs: box, Xeon, 2 CPUs", "The number of members differs: 3 here, 5", "TLS true", "The store differs: etcd here, zookeeper"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
	// If a rate is a share of another trial's throughput, the runs are compared, although such a
	// rate differs in every run.
	now, then := matrix(1, 1), matrix(1, 1)
	for i := range now.Trials {
		other := 200.0
		now.Trials[i].Arrival, now.Trials[i].Rate, now.Trials[i].Load.Rate.SourceTrial = scenario.Constant, &rate, "x"
		then.Trials[i].Arrival, then.Trials[i].Rate, then.Trials[i].Load.Rate.SourceTrial = scenario.Constant, &other, "x"
	}
	compareRuns(t, now, then)
	now.Trials[0].Load.Rate, then.Trials[0].Load.Rate = scenario.Rate{PerSecond: 100}, scenario.Rate{PerSecond: 200}
	if _, err := compare.Compare(now, then, compare.DefaultMetrics()); err == nil || !strings.Contains(err.Error(), "the rate per second in put-64: 100 here, 200 in the baseline") {
		t.Errorf("got %v", err)
	}
}

// TestCompareExcludesRepeatsThatDoNotCount checks that a comparison leaves out invalid and
// interrupted repeats, and that the report lists these repeats.
func TestCompareExcludesRepeatsThatDoNotCount(t *testing.T) {
	settle.SkipUnderRace(t)
	now, base := matrix(6, 1), matrix(5, 1)
	spoil := func(r *record.Run, name string, repeat int, how func(*record.Trial)) {
		for i := range r.Trials {
			if x := &r.Trials[i]; x.Name == name && x.Repeat == repeat {
				how(x)
				x.PerSecond = 1
			}
		}
	}
	invalid := func(x *record.Trial) {
		x.Verdict = verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{{Rule: 3, Text: "1 answer was wrong"}}}
	}
	spoil(now, "put-64", 6, invalid)
	spoil(base, "put-64", 1, func(x *record.Trial) { x.State = record.Interrupted })
	spoil(base, "put-64", 2, invalid)
	for repeat := range 5 {
		spoil(base, "put-256", repeat+1, invalid)
	}
	c := compareRuns(t, now, base)
	if len(c.Pairs) != 1 {
		t.Fatalf("%+v", c.Pairs)
	}
	p := c.Pairs[0]
	if len(p.New) != 5 || len(p.Base) != 3 || math.Abs(p.Figures[0].Current.Number-520) > 0.1 || math.Abs(p.Figures[0].Base.Number-530) > 0.1 || p.Figures[0].Change.Interval {
		t.Errorf("%d and %d repeats, %v and %v: %+v", len(p.New), len(p.Base), p.Figures[0].Current, p.Figures[0].Base, p.Figures[0].Change)
	}
	var b bytes.Buffer
	if err := Text(&b, Comparison(c), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Not used: put-64 here, 1 of 6 (invalid R3); put-64 in the baseline, 2 of 5 (1 interrupted, 1 invalid R3); put-256 in the baseline, 5 of 5 (invalid R3).",
		"Trials without a usable repeat in the baseline: put-256.", "invalid R3", "An interval needs 5 repeats",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	rows := comparedAsJSON(t, now, c).Comparisons[0].Rows
	if rows[0].LeftOut != [2]int{1, 2} || rows[0].QPS.Repeats != [2]int{5, 3} || rows[0].BaseVerdict != verdict.Invalid {
		t.Errorf("%+v", rows[0])
	}
}

// TestCompareSaysWhichRepeatsAreIndependent checks two sentences of the report. The first states
// that repeats on the same cluster share its state; it does not appear for repeats on separate
// clusters. The second states how many changes were tested together; it appears only with enough
// repeats.
func TestCompareSaysWhichRepeatsAreIndependent(t *testing.T) {
	settle.SkipUnderRace(t)
	const note = "share its state, so they are not independent"
	own := func(r *record.Run) *record.Run {
		for i := range r.Trials {
			r.Trials[i].Cluster = fmt.Sprintf("cluster-%d", i+1)
			r.Clusters = append(r.Clusters, record.Cluster{ID: r.Trials[i].Cluster, Started: true})
		}
		return r
	}
	attached := own(matrix(5, 1))
	for i := range attached.Clusters {
		attached.Clusters[i].Started = false // a cluster that was already running, with a different name each time
	}
	for what, tt := range map[string]struct {
		now, base *record.Run
		dependent bool
	}{
		"one cluster":         {matrix(5, 1), matrix(5, 1), true},
		"one in the baseline": {own(matrix(5, 1)), matrix(5, 1), true},
		"attached":            {attached, own(matrix(5, 1)), true},
		"separate clusters":   {own(matrix(5, 1)), own(matrix(5, 1)), false},
		"too few":             {matrix(4, 1), matrix(4, 1), false},
	} {
		c := compareRuns(t, tt.now, tt.base)
		var b bytes.Buffer
		if err := Text(&b, Comparison(c), true); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), note); got != tt.dependent {
			t.Errorf("%s: the note on dependent repeats is printed: %t\n%s", what, got, b.String())
		}
		if said := strings.Contains(b.String(), "4 changes were tested together"); said != (c.FamilySize == 4) || said != (what != "too few") {
			t.Errorf("%s: %d judged together, said: %t", what, c.FamilySize, said)
		}
	}
}

// disturbed returns the verdict of a trial whose throughput other programs may have reduced by the
// given share.
func disturbed(share float64) verdict.Verdict {
	return verdict.Verdict{State: verdict.Suspect, Effect: verdict.Effect{Throughput: share},
		Reasons: []verdict.Reason{{Rule: 23, Text: "others", Figures: []string{"ops"}}}}
}

// TestCompareWithASuspectBaseline checks a baseline whose repeats are all suspect: it is compared
// like any other baseline, and each figure has its own verdict. If no repeat of the baseline
// counts, the report says so.
func TestCompareWithASuspectBaseline(t *testing.T) {
	settle.SkipUnderRace(t)
	now, base := matrix(6, 0.7), matrix(6, 1)
	for i := range base.Trials {
		base.Trials[i].Verdict = disturbed(0.08)
	}
	c := compareRuns(t, now, base)
	rows := comparedAsJSON(t, now, c).Comparisons[0].Rows
	if len(rows) != 2 || rows[0].QPS.Result != "worse" || rows[0].P90.Result != "worse" || rows[0].LeftOut != [2]int{} {
		t.Errorf("%+v", rows)
	}
	table := c.Table()
	for i, want := range []string{"valid; baseline suspect R23", "valid"} {
		if got := table.Rows[i][len(table.Rows[i])-1].Text; got != want {
			t.Errorf("the verdict of figure %d is %q, not %q", i, got, want)
		}
	}
	// A disturbance that may have lowered the baseline's throughput makes the interval longer only
	// at its lower end.
	quiet := compareRuns(t, now, matrix(6, 1)).Pairs[0].Figures[0].Change
	change := c.Pairs[0].Figures[0].Change
	if change.Low >= quiet.Low || change.High > quiet.High+1e-9 || change.Share != quiet.Share {
		t.Errorf("the interval is %g to %g, and without the disturbance it is %g to %g", change.Low, change.High, quiet.Low, quiet.High)
	}
	for i := range base.Trials {
		base.Trials[i].Verdict.State = verdict.Invalid
	}
	c = compareRuns(t, now, base)
	var b bytes.Buffer
	if err := Text(&b, Comparison(c), true); err != nil {
		t.Fatal(err)
	}
	const want = "No trial has usable repeats on both sides. Repeat the runs on a quieter machine.\nNot used: put-64 in the baseline, 6 of 6 (invalid R23); put-256 in the baseline, 6 of 6 (invalid R23).\n"
	if !strings.Contains(b.String(), want) || compare.CheckJudgeable([]*compare.Comparison{c}) == nil {
		t.Errorf("the text about an invalid baseline is\n%s", b.String())
	}
}

// TestComparisonsOfSeveralRuns checks that every format shows several runs that are compared with
// the same baseline.
func TestComparisonsOfSeveralRuns(t *testing.T) {
	settle.SkipUnderRace(t)
	by, err := compare.ParseMetrics([]string{"ops", "p50"})
	if err != nil {
		t.Fatal(err)
	}
	base := matrix(6, 1)
	var all []*compare.Comparison
	for _, factor := range []float64{1.001, 0.8} {
		run := matrix(6, factor)
		run.Name = fmt.Sprintf("times-%g", factor)
		run.Trials[1].Verdict = disturbed(0.2)
		run.Trials[1].PerSecond *= 0.8
		c, err := compare.Compare(run, base, by)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	compare.Judge(0.03, all...)
	for name, write := range map[string]func(io.Writer, Finding) error{
		"comparisons.txt": func(w io.Writer, f Finding) error { return Text(w, f, true) },
		"comparisons.md":  Markdown, "comparisons.json": JSON, "comparisons.csv": CSV,
	} {
		var b bytes.Buffer
		if err := write(&b, Comparisons(all...)); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
	want := []string{"put-64 ops", "put-64 p50", "put-256 ops", "put-256 p50"}
	if worse := compare.Worsened(all); !slices.Equal(worse, want) || all[1].FamilySize != 8 {
		t.Errorf("the worsened figures are %v in a family of %d", worse, all[1].FamilySize)
	}
	compare.Judge(0.1, all...)
	for _, p := range all[0].Pairs {
		if word := p.Figures[0].Change.Judgement.Word; word != stats.Same {
			t.Errorf("%s within 10 %%: %s", p.Name, word)
		}
	}
	c, err := compare.Compare(all[1].Run, base, by)
	if err != nil || len(c.LeftOut) > 0 {
		t.Errorf("of the suspect repeats, %v are left out; the error is %v", c.LeftOut, err)
	}
	for _, names := range [][]string{{"p97"}, {"opps"}, {"run-slices"}, {"ops", "ops"}} {
		if _, err := compare.ParseMetrics(names); err == nil {
			t.Errorf("ParseMetrics accepts %v", names)
		}
	}
}
