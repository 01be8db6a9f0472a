package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// matrixRun returns a run whose trials differ in the value's size and the number of clients. Each
// trial has 6 repeats, whose throughput varies by 1 %, and by 15 % in trial 6. The throughput of
// trial n is multiplied by factors[n].
func matrixRun(t *testing.T, name string, factors ...float64) *record.Run {
	t.Helper()
	const repeats = 6
	run := opened(t, made{name: name, seconds: 3, trials: repeats * len(factors)}.record(t))
	for i := range run.Trials {
		one, n := &run.Trials[i], i/repeats
		one.Number, one.Repeat, one.Repeats = n+1, i%repeats+1, repeats
		one.Name = fmt.Sprintf("put-%d", n+1)
		one.Cluster = fmt.Sprintf("c%d", i)
		one.ValueSize, one.Clients = []int{64, 4096}[n%2], 10*(1+n/2)
		varies := 0.01
		if n == 5 {
			varies = 0.15
		}
		one.PerSecond = 1000 * float64(n+1) * factors[n] * (1 + varies*float64(i%3-1))
		one.Verdict = verdict.Verdict{State: verdict.Valid}
	}
	return run
}

// comparedPage returns the page of a comparison whose changes are better, worse, same and unclear,
// and its changes as JSON.
func comparedPage(t *testing.T) (page string, rows []map[string]any, c *compare.Comparison) {
	t.Helper()
	base, run := matrixRun(t, "base", 1, 1, 1, 1, 1, 1), matrixRun(t, "next", 1.3, 0.6, 1, 2.5, 1.02, 0.9)
	by, err := compare.ParseMetrics([]string{"ops"})
	must(t, err)
	c, err = compare.Compare(run, base, by)
	must(t, err)
	joined, err := record.Join([]*record.Run{base, run})
	must(t, err)
	var b, object bytes.Buffer
	must(t, HTML(&b, joined, []*compare.Comparison{c}))
	checkPage(t, b.String())
	must(t, report.JSON(&object, report.Comparisons(c)))
	var all struct {
		Comparisons []struct{ Rows []map[string]any }
	}
	must(t, json.Unmarshal(object.Bytes(), &all))
	return b.String(), all.Comparisons[0].Rows, c
}

// In a real browser, the forest plot and the heat map show the values that the JSON output
// contains. The page sends no further request, causes no error, and is not cut off at any width, in
// both themes.
func TestBrowserShowsComparison(t *testing.T) {
	settle.SkipUnderRace(t)
	page, rows, c := comparedPage(t)
	if out := os.Getenv("QUORUMBENCH_PAGE"); out != "" { // writes the page to a file that a developer can open
		must(t, os.WriteFile(out, []byte(page), 0o600))
	}
	b := browse(t, writtenText(t, page))
	plots := compare.Forests([]*compare.Comparison{c})
	axis := chart.NewRatioAxis(&plots[0])
	seen := map[string]bool{}
	for i, row := range rows {
		ops := row["operations_per_second"].(map[string]any)
		number := func(key string) float64 { return ops[key].(float64) }
		line := fmt.Sprintf(`#compared .forest tbody tr:nth-child(%d) `, i+1)
		for selector, want := range map[string]string{
			"th": row["trial"].(string), "td[data-title=change]": text.SignedPercent(number("change")),
			"td[data-title^='95']": text.SignedPercent(number("change_low")) + " to " + text.SignedPercent(number("change_high")),
		} {
			if got := b.Text(line + selector); !strings.HasPrefix(got, want) {
				t.Errorf("%s %s says %q, but the JSON object says %q", row["trial"], selector, got, want)
			}
		}
		word := ops["result"].(string)
		if got := b.Text(line + ".word"); !strings.HasPrefix(got, word) {
			t.Errorf("%s is %q, but the JSON object says %q", row["trial"], got, word)
		}
		seen[word] = true
		for selector, key := range map[string]string{"circle|cx": "change", ".interval|x1": "change_low", ".interval|x2": "change_high", ".wider|x1": "corrected_low", ".wider|x2": "corrected_high"} {
			element, attribute, _ := strings.Cut(selector, "|")
			got, err := strconv.ParseFloat(strings.TrimSuffix(browser.Value[string](b.Browser, `document.querySelector(%q).getAttribute(%q)`, line+element, attribute), "%"), 64)
			if want := 100 * axis.Place(1+number(key)); err != nil || math.Abs(got-want) > 0.01 {
				t.Errorf("%s: %s is at %g, not at %g", row["trial"], key, got, want)
			}
		}
		if got := b.Text("#changes-ops-1 .paper"); !strings.Contains(got, text.SignedPercent(number("change"))) {
			t.Errorf("the heat map lacks %s", text.SignedPercent(number("change")))
		}
	}
	if len(seen) < 4 {
		t.Errorf("the test has only the results %v", seen)
	}
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

// The heat map of one run shows the throughput and the p99 of each trial. Each cell has its number.
func TestPageHasMatrix(t *testing.T) {
	settle.SkipUnderRace(t)
	text := pageOfRun(t, matrixRun(t, "matrix", 1, 1, 1, 1))
	for _, want := range []string{`id="matrix-throughput"`, `id="matrix-p99"`, "Throughput of put on etcd 3.7.3, by clients (rows) and value-size (columns)",
		">1,000/s</text>", ">4,000/s</text>", `class="m1"`, `class="m8"`, "clients 20, value-size 4.00 KiB: 4,000/s. "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// Files have the forest plots and matrices of a comparison.
func TestComparisonsAsFiles(t *testing.T) {
	settle.SkipUnderRace(t)
	_, _, c := comparedPage(t)
	var all []chart.Chart
	all = append(append(all, forestCharts([]*compare.Comparison{c})...), changeMatrices([]*compare.Comparison{c})...)
	if len(all) != 2 {
		t.Fatalf("%d charts", len(all))
	}
	for i := range all {
		wellFormed(t, all[i].File("run", chartStyle))
		var b bytes.Buffer
		must(t, all[i].PNG(&b, "run", chart.Pixels{Scale: 1}))
		if out := os.Getenv("QUORUMBENCH_PAGE"); out != "" {
			must(t, os.WriteFile(fmt.Sprintf("%s-%d.png", out, i), b.Bytes(), 0o600))
		}
	}
}
