package web

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// made describes a run to simulate.
type made struct {
	name    string
	seconds int // length of each trial's window
	trials  int
	failing bool // every operation fails
	skip    func(second int) bool
	killed  bool // the run ends without being marked as complete
	hostile string
	open    bool
}

// record writes the run into a folder and returns the folder's path. In each second, 1,980
// operations take 1 ms and 20 take 50 ms, except in second 4, in which all 2,000 operations take
// 800 ms.
func (m made) record(t testing.TB) string {
	t.Helper()
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), m.name, noon, record.Run{Name: m.name + m.hostile, Planned: m.trials})
	must(t, err)
	for n := range m.trials {
		c := record.Conditions{Number: n + 1, Name: fmt.Sprintf("put-%d", n+1) + m.hostile, Repeat: 1, Repeats: 1, Store: "etcd" + m.hostile, Version: "3.7.3" + m.hostile,
			Operation: "put", Members: 3, Label: m.hostile,
			Load: scenario.Load{Clients: 10, Connections: 10, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
		if m.open {
			rate := 2000.0
			c.Arrival, c.Rate = scenario.Constant, &rate
		}
		m.trial(t, w, c)
	}
	if !m.killed {
		must(t, w.Finish(record.Complete, "", noon.Add(time.Hour)))
	}
	return w.Dir()
}

func (m made) trial(t testing.TB, w *record.Writer, c record.Conditions) {
	t.Helper()
	began := noon.Add(time.Duration(c.Number) * time.Minute)
	tw, err := w.Trial(c, began)
	must(t, err)
	total := &measure.Totals{Seconds: float64(m.seconds), ErrorTexts: map[kv.Outcome]string{kv.TimedOut: "no answer" + m.hostile}}
	opened := began.Add(2 * time.Second)
	for _, phase := range []measure.Phase{measure.Warmup, measure.Measured} {
		seconds, from := 2, began
		if phase == measure.Measured {
			seconds, from = m.seconds, opened
		}
		must(t, tw.Begin(phase, from))
		for i := range seconds {
			if m.skip == nil || phase == measure.Warmup || !m.skip(i) {
				must(t, tw.Second(m.second(phase, i, total)))
			}
		}
	}
	tw.End(measure.Measured, opened.Add(time.Duration(m.seconds)*time.Second))
	must(t, tw.Event(record.Event{Time: opened.Add(4500 * time.Millisecond), Kind: "slow_fsync", Member: "m2" + m.hostile, Text: "m2 synced slowly" + m.hostile, Line: "slow" + m.hostile, Duration: 700 * time.Millisecond}))
	must(t, tw.Event(record.Event{Time: opened.Add(time.Second), Kind: "member_lost", Member: "m3", Text: "m3 was lost: " + m.hostile}))
	must(t, tw.Event(record.Event{Time: opened.Add(time.Second), Kind: "unheard-of" + m.hostile, Member: "m1", Text: "something" + m.hostile}))
	if m.killed {
		return
	}
	r := record.NewTrial(c, record.Observed{Started: began, Opened: opened, CPUSeconds: 1}, total, nil, nil)
	r.Verdict = verdict.Verdict{State: verdict.Valid}
	must(t, tw.Finish(r))
}

func (m made) second(phase measure.Phase, index int, total *measure.Totals) *measure.Second {
	cell := &measure.Cell{Series: measure.Series{Kind: kv.Put}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
	s := &measure.Second{Phase: phase, Index: index, Length: 1e9, Clients: 10, Connections: 10, InFlight: 7, Tally: measure.Tally{Cells: []*measure.Cell{cell}}}
	if m.open {
		s.Lateness = measure.NewHistogram()
		measure.RecordAll(s.Lateness, 20e3, 2000)
	}
	s.Due = 2000
	if m.failing {
		s.Outcomes[kv.TimedOut] = 2000
		h := measure.NewHistogram()
		measure.RecordAll(h, 10e9, 2000)
		cell.Failed[measure.ErrorIndex(kv.TimedOut)] = h
	} else {
		s.Outcomes[kv.OK], s.Done = 2000, 2000
		for ns, n := range map[int64]uint64{1e6: 1980, 50e6: 20} {
			if phase == measure.Measured && index == 4 {
				ns = 800e6
			}
			measure.RecordAll(cell.Response, ns, n)
			measure.RecordAll(cell.Service, ns, n)
		}
	}
	if phase == measure.Measured {
		total.Due += s.Due
		total.Done += s.Done
		for o := range s.Outcomes {
			total.Outcomes[o] += s.Outcomes[o]
		}
		total.Cells = measure.MergeCells(total.Cells, s.Cells)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opened reads a run directory in the same way as reports do.
func opened(t testing.TB, dir string) *record.Run {
	t.Helper()
	run, err := record.Open(dir)
	must(t, err)
	figures.ReadTrialFiles(run, dir)
	return run
}

func pageText0(t testing.TB, dir string) string {
	t.Helper()
	return pageOfRun(t, opened(t, dir))
}

func pageOfRun(t testing.TB, run *record.Run) string {
	t.Helper()
	var b bytes.Buffer
	must(t, HTML(&b, run, nil))
	checkPage(t, b.String())
	return b.String()
}

// checkPage checks properties that every page must have: its links have targets, it makes no
// requests, it has one script, its charts are well-formed, and its size is limited.
func checkPage(t testing.TB, text string) {
	t.Helper()
	if len(text) > 2<<20 {
		t.Errorf("the page has %d bytes, want at most 2 MiB", len(text))
	}
	root, err := html.Parse(strings.NewReader(text))
	must(t, err)
	ids, links, scripts := map[string]bool{}, []string{}, 0
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "img", "iframe", "object", "embed", "link", "base", "form", "input", "foreignobject", "image", "use":
				t.Errorf("the page has the element %s", n.Data)
			}
			kind := ""
			for _, a := range n.Attr {
				switch {
				case a.Key == "id":
					if ids[a.Val] {
						t.Errorf("two elements have the ID %s", a.Val)
					}
					ids[a.Val] = true
				case a.Key == "href":
					links = append(links, a.Val)
				case a.Key == "type":
					kind = a.Val
				case a.Key == "src", strings.HasPrefix(a.Key, "on"), a.Key == "style":
					t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "script" && kind == "" {
				scripts++
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	for _, l := range links {
		if !strings.HasPrefix(l, "#") || !ids[l[1:]] {
			t.Errorf("the link %q has no target on the page", l)
		}
	}
	if scripts != 1 {
		t.Errorf("the page has %d scripts, want 1", scripts)
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, `<svg class="chart"`)
		if !ok {
			break
		}
		picture, end, ok := strings.Cut(after, "</div>")
		if !ok {
			t.Fatal("a chart's element has no end tag")
		}
		rest = end
		wellFormed(t, `<svg class="chart"`+picture)
	}
}

// wellFormed checks that a chart is XML with numbers in its paths.
func wellFormed(t testing.TB, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%.80q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestPageHasAllParts(t *testing.T) {
	settle.SkipUnderRace(t)
	text := pageText0(t, made{name: "plain", seconds: 12, trials: 2, open: true}.record(t))
	for _, want := range []string{
		`<h2>Overview</h2>`, `Reliability</b> all trials are valid`, `Open loop: response time by percentile`, `id="t1-1-throughput"`, `id="t1-1-latency"`,
		`id="t2-1-lateness"`, `id="t1-1-heat-map"`, `id="t1-1-events"`, `4.0 s: p99 800 ms instead of 1.00 ms`, `m2 synced its log slowly (700 ms) at 4.5 s`,
		`<title>3.8 s: m2 synced its log slowly (700 ms)</title>`, `class="warmup" x="-2" width="2"`, `<h2>Conditions</h2>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// Text from a run directory is untrusted, and the page escapes it.
func TestHostileTextStaysText(t *testing.T) {
	const evil = `</title></script></style><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`" + `]]><svg onload=alert(3)> {{.}} javascript:alert(4)`
	dir := made{name: "evil", seconds: 5, trials: 1, hostile: evil}.record(t)
	text := pageText0(t, dir)
	if strings.Contains(text, "<img") || strings.Contains(text, "<script>alert") || strings.Contains(text, "<svg onload") {
		t.Error("text from the run directory was inserted as an element")
	}
	charts, _ := Charts(opened(t, dir), nil, AllCharts)
	for _, c := range charts {
		wellFormed(t, c.Text)
		if strings.Contains(c.Text, "<img") || strings.Contains(c.Text, "<script") || strings.ContainsAny(c.Name, `/\<>"' `) {
			t.Errorf("the chart %q contains text that was inserted as an element", c.Name)
		}
	}
}

// A run has a readable report whatever its state is.
func TestReportsOfUnusualRuns(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []struct {
		made
		want string
	}{
		{made{name: "empty"}, "No trial was started."},
		{made{name: "one-second", seconds: 1, trials: 1}, `id="t1-1-throughput"`},
		{made{name: "error-only", seconds: 6, trials: 1, failing: true}, `due operations failed (timeout)`},
		{made{name: "gaps", seconds: 20, trials: 1, skip: func(s int) bool { return s%3 == 1 }}, `id="t1-1-latency"`},
		{made{name: "killed", seconds: 6, trials: 2, killed: true}, "no result: incomplete"},
		{made{name: "killed-whole", seconds: 6, trials: 2, killed: true}, "<b>Incomplete:</b> incomplete"},
		{made{name: "only-warm-up", trials: 1}, "t1-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.record(t)
			text := pageText0(t, dir)
			if !strings.Contains(text, c.want) {
				t.Errorf("the page lacks %s:\n%.3000s", c.want, text)
			}
			charts, _ := Charts(opened(t, dir), nil, AllCharts)
			for _, f := range charts {
				wellFormed(t, f.Text)
			}
		})
	}
}

func TestTruncatedLogIsReported(t *testing.T) {
	dir := made{name: "truncated", seconds: 10, trials: 1}.record(t)
	run := opened(t, dir)
	path := filepath.Join(dir, run.Trials[0].Folder, "latency.hlog")
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, b[:len(b)/2], 0o600))
	if text := pageText0(t, dir); !strings.Contains(text, "latency.hlog is incomplete") || !strings.Contains(text, `id="t1-1-latency"`) {
		t.Error("the page does not say that the log is incomplete, or has no chart of the rest")
	}
	must(t, os.WriteFile(path, append(b[:len(b)/2:len(b)/2], "\nTag=rubbish\n"...), 0o600))
	if text := pageText0(t, dir); !strings.Contains(text, "are incomplete: ") {
		t.Error("the page does not say that the log is damaged")
	}
	if _, problems := Charts(opened(t, dir), nil, AllCharts); len(problems) != 1 || !strings.Contains(problems[0], "are incomplete: ") {
		t.Errorf("the problems of the chart files are %q", problems)
	}
}

// A record from another program may lack fields.
func TestErrorsWithoutKinds(t *testing.T) {
	dir := made{name: "kindless", seconds: 6, trials: 1, failing: true}.record(t)
	run := opened(t, dir)
	run.Trials[0].ErrorsByKind = nil
	if text := pageOfRun(t, run); !strings.Contains(text, "12,000 of 12,000 due operations failed.") {
		t.Errorf("the page does not state that all operations failed: %.3000s", text)
	}
}

// Sentences about seconds and bottlenecks are correct even if there are only a few seconds, or
// none.
func TestUnknownFiguresAreOmitted(t *testing.T) {
	settle.SkipUnderRace(t)
	if text := pageText0(t, made{name: "short", seconds: 1, trials: 1, failing: true}.record(t)); strings.Contains(text, "No second was far worse") {
		t.Error("the page compares the only second with other seconds")
	}
	dir := made{name: "steady", seconds: 12, trials: 1, open: true}.record(t)
	run := opened(t, dir)
	if text := pageOfRun(t, run); !strings.Contains(text, "No measured figure") {
		t.Errorf("the page does not state that the trial reached no limit")
	}
	run.Trials[0].TermChanges = 1
	if text := pageOfRun(t, run); strings.Contains(text, "No measured figure") {
		t.Error("the page states that a trial with a leader change reached no limit")
	}
}

// The answer counts only the repeats of a trial that have a result, and reports each failure once.
func TestAnswerCountsRepeatsWithAResult(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := made{name: "repeats", seconds: 5, trials: 6, failing: true}.record(t)
	run := opened(t, dir)
	for i := range run.Trials {
		one := &run.Trials[i]
		one.Name, one.Number, one.Repeat, one.Repeats = "put", 1, i+1, 6
		if i > 0 {
			one.State = record.Failed
		}
	}
	text := pageOfRun(t, run)
	if strings.Contains(text, "the median of") || !strings.Contains(text, "was run once") || !strings.Contains(text, "<b>put</b> 60,000 of 60,000 due operations failed (timeout) in all 6 repeats.") {
		t.Errorf("the answer about repeats whose operations all failed is wrong: %.4000s", text)
	}
}

// The answer states how many repeats the median includes, and how many do not count.
func TestAnswerCountsRepeatsOfMedian(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "repeats", seconds: 5, trials: 3}.record(t))
	for i := range run.Trials {
		one := &run.Trials[i]
		one.Name, one.Number, one.Repeat, one.Repeats = "put", 1, i+1, 3
	}
	for _, c := range []struct {
		invalid int
		want    string
	}{{0, " (median of 3 repeats)."}, {1, " (median of 2 of 3 repeats; the others do not count)."}, {2, " (median of 1 of 3 repeats; the others do not count)."}} {
		for i := range c.invalid {
			run.Trials[i].Verdict = verdict.Verdict{State: verdict.Invalid}
		}
		if text := pageOfRun(t, run); !strings.Contains(text, c.want) {
			t.Errorf("with %d invalid repeats, the page lacks %q: %.3000s", c.invalid, c.want, text)
		}
	}
}

// A page with large charts stays within the size limits. The chart files still contain the charts
// of all trials.
func TestLargeChartsAreCut(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := made{name: "large", seconds: 60, trials: 16}.record(t)
	run := opened(t, dir)
	for i := range run.Trials {
		one := &run.Trials[i]
		for s := range 60 {
			for _, kind := range []string{"slow_fsync", "slow_apply", "snapshot"} {
				for n := range 3 {
					member := fmt.Sprintf("m%d-", n) + strings.Repeat("of-a-long-name-", 20)
					one.Events = append(one.Events, record.Event{Time: one.Opened.Add(time.Duration(s) * time.Second), Kind: kind, Member: member,
						Text: member + " was slow: and a long text about it", Line: "slow", Duration: 300 * time.Millisecond})
				}
			}
		}
	}
	pageOfRun(t, run)
	if files, _ := Charts(run, nil, AllCharts); !slices.ContainsFunc(files, func(f File) bool { return strings.HasPrefix(f.Name, "trial-16-") }) {
		t.Error("no chart file belongs to the last trial")
	}
}

// The pages of runs that were recorded with real clusters have charts.
func TestPagesOfRecordedRuns(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, name := range runs.Recorded(t) {
		text := pageText0(t, runs.Unpack(t, t.TempDir(), name))
		if !strings.Contains(text, `-throughput"`) {
			t.Errorf("%s has no charts", name)
		}
	}
}

// The size of a page is limited even for a run with very many trials.
func TestPageOfManyTrials(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "many", seconds: 3, trials: 1}.record(t))
	one := run.Trials[0]
	for n := range 10_000 {
		next := one
		next.Number, next.Name = n+2, fmt.Sprintf("put-%d", n+2)
		next.Timeline, next.Events = nil, nil
		run.Trials = append(run.Trials, next)
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, nil))
	checkPage(t, b.String())
	if !strings.Contains(b.String(), "Trials with charts on this page: 1 of 10,001.") || !strings.Contains(b.String(), "Only the first 400 of 10,001 rows are shown") {
		t.Error("the page does not state which trials and rows it omits")
	}
}

// The answer states the confidence interval of a throughput, both for a single run of at least ten
// seconds and for five repeats.
func TestAnswerHasIntervals(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []struct {
		seconds, repeats int
		want             string
	}{
		{5, 1, ""},
		{12, 1, "95 % CI within this run, without run-to-run variation: "},
		{5, 5, "95 % CI of the mean over 5 repeats: "},
	} {
		dir := made{name: "sure", seconds: c.seconds, trials: c.repeats}.record(t)
		run := opened(t, dir)
		for i := range run.Trials {
			one := &run.Trials[i]
			one.Name, one.Number, one.Repeat, one.Repeats = "put", 1, i+1, c.repeats
		}
		text := pageOfRun(t, run)
		if has := strings.Contains(text, "95 % CI"); has != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%d s, %d repeats: the page has an interval: %v; want an interval with %q", c.seconds, c.repeats, has, c.want)
		}
	}
}

// The table has a footnote for a consistency level that guarantees less than its name suggests, and
// columns for the costs of writes.
func TestTableHasFootnotesAndCosts(t *testing.T) {
	dir := made{name: "notes", seconds: 3, trials: 1}.record(t)
	run := opened(t, dir)
	one := &run.Trials[0]
	one.Consistency, one.WeakerReads, one.Amplification = "linearizable", map[string]string{"linearizable": "sync, then getData"}, new(8.9)
	text := pageOfRun(t, run)
	for _, want := range []string{"linearizable¹", "¹ linearizable reads of etcd: sync, then getData.", "disk/user", "8.9", "Costs of the store (CPU, RSS, disk) are sums over all members."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
