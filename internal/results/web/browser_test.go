package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	printing "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// reportPage is a page in a browser.
type reportPage struct{ *browser.Browser }

// browse opens a page as a file. It skips the test if Chromium is not installed.
func browse(t *testing.T, path string) *reportPage {
	t.Helper()
	return &reportPage{browser.Open(t, "file://"+path)}
}

// point returns the screen position of a point in the inner picture of a chart. x and y are
// fractions of the picture's width and height, from 0 to 1.
func (b *reportPage) point(figure string, x, y float64) (float64, float64) {
	b.T.Helper()
	// After a scroll, the browser also generates a pointer move; wait a few frames for it.
	at, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(`(async () => {
		const p = document.querySelector("#%s svg.chart"), frame = () => new Promise(requestAnimationFrame);
		p.scrollIntoView({block: "center", behavior: "instant"});
		for (let i = 0; i < 8; i++) await frame();
		const r = p.getBoundingClientRect();
		return [r.left + %g * r.width, r.top + %g * p.querySelector(".plot").getAttribute("height")];
	})()`, figure, x, y), chromedp.EvalAwaitPromise))
	must(b.T, err)
	return at[0], at[1]
}

// hover moves the pointer to a point within a chart.
func (b *reportPage) hover(figure string, x, y float64) {
	b.T.Helper()
	at, up := b.point(figure, x, y)
	b.Do(chromedp.MouseEvent(chromedp.MouseMoved, at, up))
}

// legend returns the value that the legend shows for a series of a chart.
func (b *reportPage) legend(figure string, n int) string {
	b.T.Helper()
	return b.Text(fmt.Sprintf("#%s .legend li:nth-child(%d) .value", figure, n))
}

// unfold opens the section of a trial.
func (b *reportPage) unfold(trial string) {
	b.T.Helper()
	browser.Value[bool](b.Browser, "document.getElementById(%q).open = true", trial)
}

func (b *reportPage) viewBox(figure string) string {
	b.T.Helper()
	return browser.Value[string](b.Browser, `document.querySelector("#%s svg.plot").getAttribute("viewBox")`, figure)
}

// atPeace checks that the page sent no request except the request for itself, and that the browser
// reported no error.
func (b *reportPage) atPeace() {
	b.T.Helper()
	b.CheckErrors()
	if n := b.CheckRequests("file://"); n != 1 {
		b.T.Errorf("the page sent %d requests", n)
	}
}

// written writes a run's page to a file.
func written(t *testing.T, dir string) string {
	t.Helper()
	return writtenText(t, pageText0(t, dir))
}

// writtenText writes a page to a file.
func writtenText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The window lasts 12 s. Operations in second 4 take 800 ms. The warm-up takes the first seventh of
// the time axis.
func TestBrowserShowsValuesInAllCharts(t *testing.T) {
	b := browse(t, written(t, made{name: "hover", seconds: 12, trials: 2, open: true}.record(t)))
	b.unfold("t1-1")
	b.hover("t1-1-throughput", (4.5+2)/14, 0.5)
	for _, c := range []struct {
		figure string
		entry  int
		want   string
	}{
		{"t1-1-throughput", 1, "2,000/s"}, {"t1-1-latency", 1, "800 ms"}, {"t1-1-latency", 2, "800 ms"}, {"t1-1-in-flight", 1, "7"}, {"t1-1-lateness", 1, "20.0 µs"},
	} {
		if got := b.legend(c.figure, c.entry); got != c.want {
			t.Errorf("the legend of %s shows %q, want %q", c.figure, got, c.want)
		}
	}
	if got := b.Text("#t1-1-heat-map .readout"); got != "4 s: 2,000" {
		t.Errorf("the heat map's readout is %q", got)
	}
	if got := b.legend("t2-1-latency", 1); got != "" {
		t.Errorf("the legend of another trial shows %q", got)
	}
	b.hover("t1-1-latency", (6.5+2)/14, 0.5)
	if got := b.legend("t1-1-latency", 3); got != "50.0 ms" && got != "50.1 ms" {
		t.Errorf("the legend shows %q for the slowest operation of second 6", got)
	}
	b.hover("percentiles-open", 0.6, 0.5)
	if got := b.Text("#percentiles-open .readout"); !strings.HasPrefix(got, "p99.") {
		t.Errorf("the readout of the percentile chart is %q", got)
	}
	b.hover("t1-1-heat-map", (4.5+2)/14, 0.01)
	if got := b.Text("#t1-1-heat-map .readout"); !strings.HasSuffix(got, ": 2,000") || !strings.Contains(got, " ms to ") {
		t.Errorf("the readout of the cell is %q", got)
	}
	b.atPeace()
}

func TestBrowserZoomsAllChartsOfATrial(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	b := browse(t, written(t, made{name: "zoom", seconds: 12, trials: 2}.record(t)))
	b.unfold("t1-1")
	whole := b.viewBox("t1-1-latency")
	x1, y := b.point("t1-1-throughput", 5.0/14, 0.5)
	x2 := x1 + browser.Value[float64](b.Browser, `document.querySelector("#t1-1-throughput svg.chart").getBoundingClientRect().width * 4 / 14`)
	left := chromedp.ButtonType(input.MouseButtonLeft)
	b.Do(chromedp.MouseEvent(chromedp.MousePressed, x1, y, left), chromedp.MouseEvent(chromedp.MouseMoved, x2, y, left), chromedp.MouseEvent(chromedp.MouseReleased, x2, y, left))
	for _, figure := range []string{"t1-1-throughput", "t1-1-latency", "t1-1-heat-map", "t1-1-events"} {
		var from, length, top, height float64
		box := b.viewBox(figure)
		if _, err := fmt.Sscan(box, &from, &top, &length, &height); err != nil || from < 2.9 || from > 3.1 || length < 3.9 || length > 4.1 {
			t.Errorf("%s shows %s", figure, box)
		}
	}
	if b.viewBox("t2-1-latency") != whole {
		t.Error("the charts of the other trial are zoomed, too")
	}
	if got := b.Text("#t1-1-latency g.x text:last-child"); got != "7 s" && got != "6 s" { // the range ends at the pixel that is nearest to 7 s
		t.Errorf("the last tick is %q", got)
	}
	b.hover("t1-1-throughput", 0.3, 0.5) // 4.2 s
	if got := b.legend("t1-1-latency", 1); got != "800 ms" {
		t.Errorf("in the zoomed chart, the legend shows %q for second 4", got)
	}
	b.Do(chromedp.Click(chromedp.CSS("#t1-1 button.back")))
	if b.viewBox("t1-1-latency") != whole {
		t.Error("the button does not restore the whole trial")
	}
	b.atPeace()
}

func TestBrowserSwitchesSeriesOff(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	b := browse(t, written(t, made{name: "legend", seconds: 12, trials: 1}.record(t)))
	hidden := func() bool {
		return browser.Value[string](b.Browser, `getComputedStyle(document.querySelectorAll("#t1-1-latency path.l.s1")[1]).display`) == "none"
	}
	if hidden() {
		t.Fatal("the series is hidden before any click")
	}
	entry := chromedp.CSS("#t1-1-latency .legend li:nth-child(2)")
	b.Do(chromedp.Click(entry))
	if !hidden() || browser.Value[string](b.Browser, `document.querySelector("#t1-1-latency .legend li:nth-child(2)").getAttribute("aria-pressed")`) != "false" {
		t.Error("the series is not hidden after a click on its legend entry")
	}
	b.Do(chromedp.Focus(entry), chromedp.KeyEvent(kb.Enter))
	if hidden() {
		t.Error("the Enter key does not show the series again")
	}
	b.atPeace()
}

func TestBrowserByKeyboard(t *testing.T) {
	b := browse(t, written(t, made{name: "keys", seconds: 12, trials: 1}.record(t)))
	whole := b.viewBox("t1-1-latency")
	b.Do(chromedp.Focus(chromedp.CSS("#t1-1-throughput .paper")), chromedp.KeyEvent(kb.Home))
	for range 6 { // from -2 s to 4 s
		b.Do(chromedp.KeyEvent(kb.ArrowRight))
	}
	if got := b.legend("t1-1-latency", 1); got != "800 ms" {
		t.Errorf("six steps from the start, the legend shows %q for p50", got)
	}
	b.Do(chromedp.KeyEvent("+"))
	if b.viewBox("t1-1-latency") == whole {
		t.Error("the plus key does not zoom the charts")
	}
	b.Do(chromedp.KeyEvent(kb.Escape))
	if b.viewBox("t1-1-latency") != whole || b.legend("t1-1-latency", 1) != "" {
		t.Error("the Escape key does not restore the whole trial")
	}
	b.atPeace()
}

// The background is dark in the dark theme and white in print. Without scripts, all text is still
// readable.
func TestBrowserThemesPrintAndNoScript(t *testing.T) {
	path := written(t, made{name: "themes", seconds: 12, trials: 1}.record(t))
	b := browse(t, path)
	paper := func() string {
		return browser.Value[string](b.Browser, `getComputedStyle(document.body).backgroundColor`)
	}
	if got := paper(); got != "rgb(255, 255, 255)" {
		t.Errorf("in the light theme, the background is %s", got)
	}
	media := func(kind, theme string) {
		_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		must(t, err)
	}
	media("", "dark")
	if got := paper(); got != "rgb(20, 23, 26)" {
		t.Errorf("in the dark theme, the background is %s", got)
	}
	media("print", "dark")
	if got := paper(); got != "rgb(255, 255, 255)" {
		t.Errorf("in print, the background is %s", got)
	}
	media("", "light")
	pdf, err := chromedp.Call(b.Ctx, printing.PrintToPDF, printing.PrintToPDFParams{})
	must(t, err)
	if len(pdf.Data) < 20_000 {
		t.Errorf("the printed PDF has %d bytes", len(pdf.Data))
	}
	_, err = chromedp.Call(b.Ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(t, err)
	b.Do(chromedp.Navigate("file://" + path))
	if browser.Value[bool](b.Browser, `document.documentElement.classList.contains("scripted")`) {
		t.Fatal("scripts run although they are disabled")
	}
	if n := browser.Value[float64](b.Browser, `[...document.querySelectorAll("svg.chart")].filter(c => c.getBoundingClientRect().height > 50).length`); n < 6 {
		t.Errorf("without scripts, the page shows %v charts", n)
	}
	b.CheckErrors()
	if n := b.CheckRequests("file://"); n != 2 { // the page was opened twice
		t.Errorf("the page sent %d requests", n)
	}
}

// On a phone, only tables and quoted files are wider than the screen. They can be scrolled. The
// first column of a table remains visible, and leaves most of the width to the figures.
func TestBrowserOnASmallScreen(t *testing.T) {
	b := browse(t, written(t, made{name: "small", seconds: 12, trials: 2, open: true, hostile: "-at-all-followers-in-the-other-zone"}.record(t)))
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Reload())
	b.unfold("t1-1")
	if got := browser.Value[float64](b.Browser, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("the page is %v px wide", got)
	}
	if got := browser.Value[string](b.Browser, `[...document.querySelectorAll("body *")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && (r.right > 391 || r.left < -1) && !e.closest(".wide, pre");
	}).map(e => e.outerHTML.slice(0, 80)).join("\n")`); got != "" {
		t.Errorf("these elements extend beyond the screen:\n%s", got)
	}
	if got := browser.Value[float64](b.Browser, `Math.max(...[...document.querySelectorAll(".wide th:first-child")].map(e => e.getBoundingClientRect().width))`); got > 130 {
		t.Errorf("the first column of a table is %v px wide", got)
	}
	if got := browser.Value[float64](b.Browser, `(() => {
		const box = [...document.querySelectorAll(".wide")].find(e => e.scrollWidth > e.clientWidth);
		box.scrollLeft = box.scrollWidth;
		return box.querySelector("td").getBoundingClientRect().left - box.getBoundingClientRect().left;
	})()`); got < 0 || got > 1 {
		t.Errorf("in a scrolled table, the first column is at %v px", got)
	}
}

// TestBrowserFoldsTrials checks that a page of many trials is short, that a link to a part of a
// trial unfolds the trial, and that a printed page shows all trials.
func TestBrowserFoldsTrials(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	b := browse(t, written(t, made{name: "many", seconds: 6, trials: 15}.record(t)))
	if got := browser.Value[float64](b.Browser, `document.documentElement.scrollHeight`); got > 12_000 {
		t.Errorf("the page is %v px high", got)
	}
	unfolded := func() float64 {
		return browser.Value[float64](b.Browser, `document.querySelectorAll("details[open]").length`)
	}
	if got := unfolded(); got != 0 {
		t.Errorf("%v trials are unfolded", got)
	}
	b.Do(chromedp.Click(chromedp.CSS(".overview a[href='#t7-1']")))
	settle.Eventually(t, "the link unfolds its trial", func() bool { return browser.Value[bool](b.Browser, `document.getElementById("t7-1").open`) })
	browser.Value[bool](b.Browser, `window.dispatchEvent(new Event("beforeprint"))`)
	if got := unfolded(); got != 15 {
		t.Errorf("before printing, %v trials are unfolded, want 15", got)
	}
	browser.Value[bool](b.Browser, `window.dispatchEvent(new Event("afterprint"))`)
	if got := unfolded(); got != 1 {
		t.Errorf("after printing, %v trials are unfolded", got)
	}
	b.atPeace()
}

func TestBrowserShowsHostileTextAsText(t *testing.T) {
	const evil = `</title></script><script>document.body.dataset.evil=1</script><img src=http://127.0.0.1:9/x onerror="document.body.dataset.evil=2">`
	b := browse(t, written(t, made{name: "evil", seconds: 6, trials: 1, hostile: evil}.record(t)))
	if got := browser.Value[string](b.Browser, `document.body.dataset.evil || ""`); got != "" {
		t.Errorf("the page ran a script from the hostile text, which set %s", got)
	}
	if !strings.Contains(b.Text("h1"), "<script>") {
		t.Errorf("the heading shows the name as %q", b.Text("h1"))
	}
	b.atPeace()
}
