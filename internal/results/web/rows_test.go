package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// repeated returns a run with `trials` trials, each of which has 5 repeats. In second k, repeat n
// completes 1,000 n + 10 k operations. The fifth repeat is suspect.
func repeated(t testing.TB, name string, seconds, trials int) *record.Run {
	t.Helper()
	run := opened(t, made{name: name, seconds: seconds, trials: 5 * trials, open: true}.record(t))
	for i := range run.Trials {
		one := &run.Trials[i]
		one.Number, one.Repeat, one.Repeats = i/5+1, i%5+1, 5
		one.Name = fmt.Sprintf("put-%d", one.Number)
		one.PerSecond = float64(1000 * one.Repeat)
		if one.Repeat == 5 {
			one.Verdict = verdict.Verdict{State: verdict.Suspect, Reasons: []verdict.Reason{{Rule: 7, Text: "R7 starved"}}}
		}
		for s := range one.Timeline {
			row := &one.Timeline[s]
			row.Done = uint64(1000*one.Repeat + 10*row.Second)
		}
	}
	return run
}

// The page combines the repeats of a trial in one chart, and describes the band in the legend and
// for screen readers. The suspect repeat is left out. The files contain the same charts.
func TestPageCombinesRepeats(t *testing.T) {
	settle.SkipUnderRace(t)
	run := repeated(t, "bands", 6, 2)
	text := pageOfRun(t, run)
	for _, want := range []string{`<details class="row" id="t1">`, `id="t1-throughput"`, `id="t2-latency"`, `id="t2-percentiles"`, `id="t1-3-throughput"`,
		"Lines show the median of 4 of 5 repeats, and bands show the range from the lowest to the highest repeat.", "Left out: repeat 5 (suspect).",
		"<desc>lines: median of 4 of 5 repeats, bands: lowest to highest</desc>", "<span>lines: median of 4 of 5 repeats, bands: lowest to highest</span>",
		`<a href="#t2">put-2</a>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	files, _ := Charts(run, nil, AllCharts)
	for _, name := range []string{"trial-01-put-1-throughput", "trial-02-put-2-latency", "trial-02-put-2-percentiles"} {
		if !strings.Contains(textOf(t, files, name), `class="s0 range"`) || !strings.Contains(textOf(t, files, name), "bands: lowest to highest") {
			t.Errorf("%s has no band, or does not describe it", name)
		}
	}
	if n := strings.Count(pageText0(t, made{name: "once", seconds: 6, trials: 2}.record(t)), `range"`); n > 0 {
		t.Errorf("a page without repeats has %d bands", n)
	}
}

// The legend shows the median and the range of the repeats at the pointer.
func TestBrowserShowsRangeOfRepeats(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	b := browse(t, writtenText(t, pageOfRun(t, repeated(t, "bands", 12, 1))))
	b.hover("t1-throughput", (3.5+2)/14, 0.5)
	// The median of repeats 1 to 4 is the lower middle value, which is the value of repeat 2.
	if got := b.legend("t1-throughput", 1); got != "2,030/s (repeats 1,030/s to 4,030/s)" {
		t.Errorf("the legend says %q", got)
	}
	b.Do(chromedp.Click(chromedp.CSS("#t1-throughput .legend li:nth-child(1) span")))
	if got := browser.Value[string](b.Browser, `getComputedStyle(document.querySelector("#t1-throughput path.range")).display`); got != "none" {
		t.Error("the band of a hidden line is visible")
	}
	if got := browser.Value[float64](b.Browser, `document.querySelectorAll("#t1-throughput .legend li.about[role=button]").length`); got != 0 {
		t.Error("the explanation of the bands is a button")
	}
	b.atPeace()
}

// A page of 15 trials with 5 repeats is short and small, and has the bands of all trials. A link to
// a part of a repeat unfolds the trial and the repeat. The page is not cut off at any window width.
func TestBrowserOpensManyRepeats(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	settle.SkipUnderRace(t)
	run := repeated(t, "many", 6, 15)
	text := pageOfRun(t, run) // at most 2 MB
	b := browse(t, writtenText(t, text))
	if got := browser.Value[float64](b.Browser, `document.documentElement.scrollHeight`); got > 12_000 {
		t.Errorf("the page is %v px high", got)
	}
	if got := browser.Value[float64](b.Browser, `document.querySelectorAll("details.row path.range").length`); got < 15*3 {
		t.Errorf("the page has %v bands", got)
	}
	browser.Value[bool](b.Browser, `location.hash = "#t3-1-latency", true`)
	settle.Eventually(t, "the link unfolds the trial and its repeat", func() bool {
		return browser.Value[bool](b.Browser, `document.getElementById("t3").open && document.getElementById("t3-1").open`)
	})
	browser.Value[bool](b.Browser, `document.querySelectorAll("details").forEach(d => { d.open = true; }) || true`)
	for _, width := range []int64{390, 1440, 2560} {
		b.Do(chromedp.EmulateViewport(width, 900))
		checkWidth(t, b, width)
	}
	b.atPeace()
}

// checkWidth checks that no element of the page is cut off at the right. Tables and quoted files
// scroll.
func checkWidth(t *testing.T, b *reportPage, width int64) {
	t.Helper()
	if got := browser.Value[string](b.Browser, `[...document.querySelectorAll("body *")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && (r.right > innerWidth + 1 || r.left < -1) && !e.closest(".wide, pre");
	}).map(e => e.outerHTML.slice(0, 80)).slice(0, 5).join("\n")`); got != "" {
		t.Errorf("at %d px the page is cut off:\n%s", width, got)
	}
}

// The repeats that get charts of their own are chosen from all trials in turn: a second repeat of a
// trial is chosen only after one repeat of every trial.
func TestRepeatsAreChosenInTurn(t *testing.T) {
	settle.SkipUnderRace(t)
	run := repeated(t, "turn", 3, 15)
	shown := chooseTrials(run)
	if len(shown.rows) != 15 || len(shown.trials) != maxTrials {
		t.Fatalf("the page has the charts of %d trials and %d repeats", len(shown.rows), len(shown.trials))
	}
	own := map[int]int{}
	for _, one := range shown.trials {
		own[one.Number]++
	}
	for _, r := range analyze.Rows(run) {
		if n := own[r.First().Number]; n < 1 || n > 2 {
			t.Errorf("the page has the charts of %d repeats of trial %d, want 1 or 2", n, r.First().Number)
		}
	}
	for shown.shrink() {
		if len(shown.rows) < 15 && len(shown.trials) > 0 {
			t.Fatal("shrink removes the charts of a trial before those of all repeats")
		}
	}
	if len(shown.rows) > 0 {
		t.Errorf("%d trials still have charts", len(shown.rows))
	}
}

// The page counts only the trials that have charts, even if the charts of trials without repeats do
// not fit.
func TestPageCountsTrialsWithCharts(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "count", seconds: 3, trials: 3}.record(t))
	shown := chooseTrials(run)
	shown.trials = shown.trials[:1]
	p := newPage(run, nil, shown)
	if len(p.Trials) != 1 || !strings.HasPrefix(p.More, "Trials with charts on this page: 1 of 3.") {
		t.Errorf("the page has the charts of %d trials and states %q", len(p.Trials), p.More)
	}
}

// A page without any charts states that it has none.
func TestPageWithoutChartsSaysSo(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "none", seconds: 1, trials: maxTrials + 1}.record(t))
	for i := range run.Trials {
		run.Trials[i].Timeline = nil
	}
	if text := pageOfRun(t, run); !strings.Contains(text, "<p>Trials with charts on this page: 0 of 25.") {
		t.Error("the page does not state that it has no charts")
	}
}

// If the repeats of a trial cannot be combined, no link leads to their common section. The function
// checkPage checks that every link has a target.
func TestPageLinksOnlyToDrawnSections(t *testing.T) {
	settle.SkipUnderRace(t)
	run := repeated(t, "damaged", 6, 2)
	for i := range run.Trials {
		if one := &run.Trials[i]; one.Number == 1 && one.Repeat > 1 { // longer than any real trial
			one.Timeline[0].Time = one.Timeline[0].Time.AddDate(-20, 0, 0)
		}
	}
	text := pageOfRun(t, run)
	if strings.Contains(text, `href="#t1"`) || !strings.Contains(text, `href="#t2"`) {
		t.Error("the page has a link to a section that it lacks, or lacks a link to a section")
	}
}

// A trial without combined repeats is described by a repeat that has figures.
func TestMainChartsHaveFigures(t *testing.T) {
	failed, complete := &record.Trial{State: record.Failed}, &record.Trial{State: record.Complete}
	r := drawnRow{repeats: []drawnTrial{{trial: failed}, {trial: complete}}}
	if d := r.chooseCharts(); d == nil || d.trial != complete {
		t.Errorf("chooseCharts returns %+v, want the complete repeat", d)
	}
	r.repeats = r.repeats[:1]
	if d := r.chooseCharts(); d == nil || d.trial != failed {
		t.Errorf("the charts of the only repeat are missing")
	}
}
