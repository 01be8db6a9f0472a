package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// seriesOverRuns returns the series of the given number of benchmarks over `runs` files. From the
// middle on, the first benchmark takes 20 % longer.
func seriesOverRuns(t *testing.T, runs, benchmarks int) *history.History {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(7, 8))
	var sources []*history.Source
	for i := range runs {
		var b strings.Builder
		fmt.Fprintf(&b, "commit: %012x<b>\n", i)
		for n := range benchmarks {
			for range 5 {
				ns := 250 * (1 + 0.01*r.NormFloat64())
				if n == 0 && i >= runs/2 {
					ns *= 1.2
				}
				fmt.Fprintf(&b, "BenchmarkPut%d-2 1000 %.1f ns/op\n", n, ns)
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("bench-2026-%02d-%02d.txt", 1+i/28, 1+i%28))
		must(t, os.WriteFile(path, []byte(b.String()), 0o600))
		source, err := history.ReadFile(path)
		must(t, err)
		sources = append(sources, source)
	}
	h, err := history.Build(sources, history.Options{Order: history.ByDate, Margin: 0.03})
	must(t, err)
	return h
}

// The page shows the values of the JSON output, marks the change, and needs no script. The page
// sends no request, and is not cut off at any width.
func TestBrowserShowsHistory(t *testing.T) {
	h := seriesOverRuns(t, 24, 2)
	var page, object bytes.Buffer
	must(t, HistoryHTML(&page, h))
	must(t, report.JSON(&object, report.History(h)))
	var all struct {
		Series []struct {
			Points  []struct{ Value float64 }
			Changes []struct {
				At     int
				Result string
			}
		}
	}
	must(t, json.Unmarshal(object.Bytes(), &all))
	if strings.Contains(page.String(), "<script") || strings.Contains(page.String(), "<b>\n") {
		t.Error("the page has a script, or a label was inserted as an element")
	}
	b := browse(t, writtenText(t, page.String()))
	change := all.Series[0].Changes[0]
	if change.Result != "worse" || change.At != 12 {
		t.Fatalf("the change is %+v", change)
	}
	for i, p := range all.Series[0].Points {
		want := h.Series[0].Metric.Text(p.Value)
		if got := browser.Value[string](b.Browser, `document.querySelectorAll("#series table")[0].rows[%d].cells[4].textContent`, i+1); got != want {
			t.Errorf("run %d: the table says %q, and the JSON output says %q", i, got, want)
		}
		if got := browser.Value[string](b.Browser, `document.querySelectorAll("#series-1 path.dot title")[%d].textContent`, i); !strings.Contains(got, want) {
			t.Errorf("run %d: the tooltip is %q, want one that contains the value %q", i, got, want)
		}
	}
	if got := browser.Value[string](b.Browser, `document.querySelector("#series-1 path.change").getAttribute("class") + document.querySelector("#series-1 path.change").getAttribute("d")`); got != "worse changeM12 0V190" {
		t.Errorf("the change is drawn as %q", got)
	}
	if n := browser.Value[float64](b.Browser, `document.querySelectorAll("#series-1 path.level").length + 10 * document.querySelectorAll("#series-2 path.level").length`); n != 2 {
		t.Errorf("the levels are wrong: %v", n)
	}
	browser.Value[bool](b.Browser, `document.querySelectorAll("details").forEach(d => { d.open = true; }) || true`)
	for _, theme := range []string{"light", "dark"} {
		_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		must(t, err)
		for _, width := range []int64{390, 1440, 2560} {
			b.Do(chromedp.EmulateViewport(width, 900))
			checkWidth(t, b, width)
		}
	}
	b.atPeace()
}

// The size of the page is limited. Series with a change come first. The charts can be drawn as PNG.
func TestHistoryOfManySeries(t *testing.T) {
	settle.SkipUnderRace(t)
	h := seriesOverRuns(t, 40, 90)
	h.Series[0], h.Series[80] = h.Series[80], h.Series[0]
	var page bytes.Buffer
	must(t, HistoryHTML(&page, h))
	if page.Len() > maxPageBytes || strings.Count(page.String(), `class="chart"`) != maxHistorySeries || !strings.Contains(page.String(), "30 more series are not shown") {
		t.Errorf("the page has %d bytes and %d charts", page.Len(), strings.Count(page.String(), `class="chart"`))
	}
	if first := strings.Index(page.String(), `id="series-81"`); first < 0 || first > strings.Index(page.String(), `id="series-1"`) {
		t.Error("the changed series is not the first one")
	}
	files := HistoryCharts(h)
	if len(files) != 90 {
		t.Fatalf("%d files", len(files))
	}
	wellFormed(t, files[0].Text)
	must(t, files[0].chart.PNG(&bytes.Buffer{}, files[0].subject, chart.Pixels{Scale: 0.25}))
}
