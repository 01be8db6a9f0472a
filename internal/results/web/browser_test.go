package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	printing "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// browser is a headless Chromium that shows a page.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	wrong    []string // errors that the browser reported
	requests []string // all requests, including the one for the page
}

// browse opens a page as a file. It skips the test if Chromium is not installed.
func browse(t *testing.T, path string) *browser {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine: the package chromium of Debian has it, and make browser installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Geteuid() == 0 { // Chromium refuses its sandbox as root
		options = append(options, chromedp.NoSandbox)
	}
	limited, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	allocator, end := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(end)
	ctx, closed := chromedp.NewContext(allocator)
	t.Cleanup(closed)
	b := &browser{t: t, ctx: ctx}
	must(t, chromedp.Listen(ctx, b.handleEvent))
	b.do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://"+path))
	return b
}

func (b *browser) handleEvent(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, fmt.Sprintf("the console has %s", e.Type))
	case *browserlog.EventEntryAdded:
		b.wrong = append(b.wrong, e.Entry.Text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	must(b.t, chromedp.Do(b.ctx, steps...))
}

// value returns the value of an expression in the page.
func value[T any](b *browser, format string, args ...any) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](fmt.Sprintf(format, args...)))
	must(b.t, err)
	return v
}

// text returns the text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return value[string](b, "document.querySelector(%q).textContent", selector)
}

// point returns the screen position of a point in the inner picture of a chart. x and y are
// fractions of the picture's width and height, from 0 to 1.
func (b *browser) point(figure string, x, y float64) (float64, float64) {
	b.t.Helper()
	// After a scroll, the browser also generates a pointer move; wait a few frames for it.
	at, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(`(async () => {
		const p = document.querySelector("#%s svg.chart"), frame = () => new Promise(requestAnimationFrame);
		p.scrollIntoView({block: "center", behavior: "instant"});
		for (let i = 0; i < 8; i++) await frame();
		const r = p.getBoundingClientRect();
		return [r.left + %g * r.width, r.top + %g * p.querySelector(".plot").getAttribute("height")];
	})()`, figure, x, y), chromedp.EvalAwaitPromise))
	must(b.t, err)
	return at[0], at[1]
}

// hover moves the pointer to a point within a chart.
func (b *browser) hover(figure string, x, y float64) {
	b.t.Helper()
	at, up := b.point(figure, x, y)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, at, up))
}

// legend returns the value that the legend shows for a series of a chart.
func (b *browser) legend(figure string, n int) string {
	b.t.Helper()
	return b.text(fmt.Sprintf("#%s .legend li:nth-child(%d) .value", figure, n))
}

// unfold opens the section of a trial.
func (b *browser) unfold(trial string) {
	b.t.Helper()
	value[bool](b, "document.getElementById(%q).open = true", trial)
}

func (b *browser) viewBox(figure string) string {
	b.t.Helper()
	return value[string](b, `document.querySelector("#%s svg.plot").getAttribute("viewBox")`, figure)
}

// atPeace checks that the page made no request except the request for itself, and that the browser
// reported no error.
func (b *browser) atPeace() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("the browser complains: %s", w)
	}
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("the page asked for %q", b.requests)
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

func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
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
			t.Errorf("%s says %q and not %q", c.figure, got, c.want)
		}
	}
	if got := b.text("#t1-1-heat-map .readout"); got != "4 s: 2,000" {
		t.Errorf("the heat map says %q", got)
	}
	if got := b.legend("t2-1-latency", 1); got != "" {
		t.Errorf("another trial says %q", got)
	}
	b.hover("t1-1-latency", (6.5+2)/14, 0.5)
	if got := b.legend("t1-1-latency", 3); got != "50.0 ms" && got != "50.1 ms" {
		t.Errorf("the slowest of second 6 is said to be %q", got)
	}
	b.hover("percentiles-open", 0.6, 0.5)
	if got := b.text("#percentiles-open .readout"); !strings.HasPrefix(got, "p99.") {
		t.Errorf("the percentile chart says %q", got)
	}
	b.hover("t1-1-heat-map", (4.5+2)/14, 0.01)
	if got := b.text("#t1-1-heat-map .readout"); !strings.HasSuffix(got, ": 2,000") || !strings.Contains(got, " ms to ") {
		t.Errorf("the cell says %q", got)
	}
	b.atPeace()
}

func TestBrowserZoomsAllChartsOfATrial(t *testing.T) {
	b := browse(t, written(t, made{name: "zoom", seconds: 12, trials: 2}.record(t)))
	b.unfold("t1-1")
	whole := b.viewBox("t1-1-latency")
	x1, y := b.point("t1-1-throughput", 5.0/14, 0.5)
	x2 := x1 + value[float64](b, `document.querySelector("#t1-1-throughput svg.chart").getBoundingClientRect().width * 4 / 14`)
	left := chromedp.ButtonType(input.MouseButtonLeft)
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x1, y, left), chromedp.MouseEvent(chromedp.MouseMoved, x2, y, left), chromedp.MouseEvent(chromedp.MouseReleased, x2, y, left))
	for _, figure := range []string{"t1-1-throughput", "t1-1-latency", "t1-1-heat-map", "t1-1-events"} {
		var from, length, top, height float64
		box := b.viewBox(figure)
		if _, err := fmt.Sscan(box, &from, &top, &length, &height); err != nil || from < 2.9 || from > 3.1 || length < 3.9 || length > 4.1 {
			t.Errorf("%s shows %s", figure, box)
		}
	}
	if b.viewBox("t2-1-latency") != whole {
		t.Error("the other trial is zoomed too")
	}
	if got := b.text("#t1-1-latency g.x text:last-child"); got != "7 s" && got != "6 s" { // the range ends at the pixel that is nearest to 7 s
		t.Errorf("the last tick is %q", got)
	}
	b.hover("t1-1-throughput", 0.3, 0.5) // 4.2 s
	if got := b.legend("t1-1-latency", 1); got != "800 ms" {
		t.Errorf("zoomed, second 4 is said to take %q", got)
	}
	b.do(chromedp.Click(chromedp.CSS("#t1-1 button.back")))
	if b.viewBox("t1-1-latency") != whole {
		t.Error("it does not go back to the whole trial")
	}
	b.atPeace()
}

func TestBrowserSwitchesSeriesOff(t *testing.T) {
	b := browse(t, written(t, made{name: "legend", seconds: 12, trials: 1}.record(t)))
	hidden := func() bool {
		return value[string](b, `getComputedStyle(document.querySelectorAll("#t1-1-latency path.l.s1")[1]).display`) == "none"
	}
	if hidden() {
		t.Fatal("a series is off from the start")
	}
	entry := chromedp.CSS("#t1-1-latency .legend li:nth-child(2)")
	b.do(chromedp.Click(entry))
	if !hidden() || value[string](b, `document.querySelector("#t1-1-latency .legend li:nth-child(2)").getAttribute("aria-pressed")`) != "false" {
		t.Error("the series is still there")
	}
	b.do(chromedp.Focus(entry), chromedp.KeyEvent(kb.Enter))
	if hidden() {
		t.Error("the series does not come back by the keyboard")
	}
	b.atPeace()
}

func TestBrowserByKeyboard(t *testing.T) {
	b := browse(t, written(t, made{name: "keys", seconds: 12, trials: 1}.record(t)))
	whole := b.viewBox("t1-1-latency")
	b.do(chromedp.Focus(chromedp.CSS("#t1-1-throughput .paper")), chromedp.KeyEvent(kb.Home))
	for range 6 { // from -2 s to 4 s
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	if got := b.legend("t1-1-latency", 1); got != "800 ms" {
		t.Errorf("six steps from the start, p50 is %q", got)
	}
	b.do(chromedp.KeyEvent("+"))
	if b.viewBox("t1-1-latency") == whole {
		t.Error("plus does not zoom")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	if b.viewBox("t1-1-latency") != whole || b.legend("t1-1-latency", 1) != "" {
		t.Error("escape does not go back")
	}
	b.atPeace()
}

// The background is dark in the dark theme and white in print. Without scripts, all text is still
// readable.
func TestBrowserThemesPrintAndNoScript(t *testing.T) {
	path := written(t, made{name: "themes", seconds: 12, trials: 1}.record(t))
	b := browse(t, path)
	paper := func() string { return value[string](b, `getComputedStyle(document.body).backgroundColor`) }
	if got := paper(); got != "rgb(255, 255, 255)" {
		t.Errorf("by day the page is %s", got)
	}
	media := func(kind, theme string) {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		must(t, err)
	}
	media("", "dark")
	if got := paper(); got != "rgb(20, 23, 26)" {
		t.Errorf("in the dark the page is %s", got)
	}
	media("print", "dark")
	if got := paper(); got != "rgb(255, 255, 255)" {
		t.Errorf("printed the page is %s", got)
	}
	media("", "light")
	pdf, err := chromedp.Call(b.ctx, printing.PrintToPDF, printing.PrintToPDFParams{})
	must(t, err)
	if len(pdf.Data) < 20_000 {
		t.Errorf("printed it has %d bytes", len(pdf.Data))
	}
	_, err = chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(t, err)
	b.do(chromedp.Navigate("file://" + path))
	if value[bool](b, `document.documentElement.classList.contains("scripted")`) {
		t.Fatal("scripts run")
	}
	if n := value[float64](b, `[...document.querySelectorAll("svg.chart")].filter(c => c.getBoundingClientRect().height > 50).length`); n < 6 {
		t.Errorf("without scripts %v charts are there", n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 || len(b.requests) != 2 {
		t.Errorf("the browser complains: %q; requests: %q", b.wrong, b.requests)
	}
}

// On a phone, only tables and quoted files are wider than the screen. They can be scrolled. The
// first column of a table remains visible, and leaves most of the width to the figures.
func TestBrowserOnASmallScreen(t *testing.T) {
	b := browse(t, written(t, made{name: "small", seconds: 12, trials: 2, open: true, hostile: "-at-all-followers-in-the-other-zone"}.record(t)))
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Reload())
	b.unfold("t1-1")
	if got := value[float64](b, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("the page is %v wide", got)
	}
	if got := value[string](b, `[...document.querySelectorAll("body *")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && (r.right > 391 || r.left < -1) && !e.closest(".wide, pre");
	}).map(e => e.outerHTML.slice(0, 80)).join("\n")`); got != "" {
		t.Errorf("the screen cuts off:\n%s", got)
	}
	if got := value[float64](b, `Math.max(...[...document.querySelectorAll(".wide th:first-child")].map(e => e.getBoundingClientRect().width))`); got > 130 {
		t.Errorf("a table's first column is %v wide", got)
	}
	if got := value[float64](b, `(() => {
		const box = [...document.querySelectorAll(".wide")].find(e => e.scrollWidth > e.clientWidth);
		box.scrollLeft = box.scrollWidth;
		return box.querySelector("td").getBoundingClientRect().left - box.getBoundingClientRect().left;
	})()`); got < 0 || got > 1 {
		t.Errorf("a scrolled table's first column is at %v", got)
	}
}

// TestBrowserFoldsTrials checks that a page of many trials is short, that a link to a part of a
// trial unfolds the trial, and that a printed page shows all trials.
func TestBrowserFoldsTrials(t *testing.T) {
	b := browse(t, written(t, made{name: "many", seconds: 6, trials: 15}.record(t)))
	if got := value[float64](b, `document.documentElement.scrollHeight`); got > 12_000 {
		t.Errorf("the page is %v px high", got)
	}
	unfolded := func() float64 { return value[float64](b, `document.querySelectorAll("details[open]").length`) }
	if got := unfolded(); got != 0 {
		t.Errorf("%v trials are unfolded", got)
	}
	b.do(chromedp.Click(chromedp.CSS(".overview a[href='#t7-1']")))
	settle.Eventually(t, "the link unfolds its trial", func() bool { return value[bool](b, `document.getElementById("t7-1").open`) })
	value[bool](b, `window.dispatchEvent(new Event("beforeprint"))`)
	if got := unfolded(); got != 15 {
		t.Errorf("a printed page has %v trials", got)
	}
	value[bool](b, `window.dispatchEvent(new Event("afterprint"))`)
	if got := unfolded(); got != 1 {
		t.Errorf("after printing, %v trials are unfolded", got)
	}
	b.atPeace()
}

func TestBrowserShowsHostileTextAsText(t *testing.T) {
	const evil = `</title></script><script>document.body.dataset.evil=1</script><img src=http://127.0.0.1:9/x onerror="document.body.dataset.evil=2">`
	b := browse(t, written(t, made{name: "evil", seconds: 6, trials: 1, hostile: evil}.record(t)))
	if got := value[string](b, `document.body.dataset.evil || ""`); got != "" {
		t.Errorf("the text %s was run", got)
	}
	if !strings.Contains(b.text("h1"), "<script>") {
		t.Errorf("the name is shown as %q", b.text("h1"))
	}
	b.atPeace()
}
