package web

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// severalStores returns a run with one trial for each store. The memory of each trial's three
// members grows.
func severalStores(t *testing.T, name string, stores ...string) *record.Run {
	t.Helper()
	dir := made{name: name, seconds: 12, trials: len(stores)}.record(t)
	run := opened(t, dir)
	for i := range run.Trials {
		one := &run.Trials[i]
		one.Store, one.Name, one.Preload = stores[i], "put-"+stores[i], true
		for second := range int64(15) {
			for member := range int64(3) {
				one.Machines = append(one.Machines, record.MachineRow{Time: one.Opened.Truncate(time.Second).Add(time.Duration(second-2) * time.Second), Name: fmt.Sprintf("m%d", member+1),
					RSS: float64(1 << 20 * (100*member + second)), User: float64(second*(member+1)) / 4})
			}
		}
	}
	return run
}

// ladderOf returns a run whose trials differ in the number of clients.
func ladderOf(t *testing.T, name string, steps int) *record.Run {
	t.Helper()
	dir := made{name: name, seconds: 5, trials: steps}.record(t)
	run := opened(t, dir)
	for i := range run.Trials {
		one := &run.Trials[i]
		one.Clients = 1 << (2 * i)
		one.Connections = one.Clients
		n := float64(one.Clients)
		one.PerSecond = 1000 * n / (1 + 0.05*(n-1) + 1e-5*n*(n-1))
		one.ServiceTime.Mean.NS = 1e9 * n / one.PerSecond
	}
	return run
}

// For each figure, the page and the files have one chart over time and one chart over the number of
// writes. Each chart combines all stores.
func TestPageHasStoresTogether(t *testing.T) {
	settle.SkipUnderRace(t)
	run := severalStores(t, "stores", "etcd", "zookeeper", "consul")
	text := pageOfRun(t, run)
	for _, want := range []string{`<h2>All stores together: put</h2>`, `id="together-put-time-throughput"`, `id="together-put-time-mean"`, `id="together-put-time-p99"`,
		`id="together-put-time-processors"`, `id="together-put-time-memory"`, `id="together-put-writes-by-writes-mean"`, `id="together-put-writes-by-writes-memory"`,
		"The band spans the values of all members, from the lowest to the highest.", "Some of these writes overwrite a key", "put-zookeeper, 10 clients"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	files, _ := Charts(run, nil, AllCharts)
	for _, want := range []string{"together-put-throughput", "together-put-by-writes-memory", "together-put-processors"} {
		if by := strings.Contains(want, "by-writes"); strings.Contains(textOf(t, files, want), "by writes completed") != by {
			t.Errorf("the title of %s does not say what its axis counts", want)
		}
	}
	if text := pageText0(t, made{name: "one", seconds: 3, trials: 2}.record(t)); strings.Contains(text, "together") {
		t.Error("the trials of a single store are drawn together")
	}
}

// Every chart can be drawn as PNG.
func TestEveryChartIsDrawnInPixels(t *testing.T) {
	settle.SkipUnderRace(t)
	run := severalStores(t, "stores", "etcd", "zookeeper")
	steps := ladderOf(t, "steps", 6)
	steps.Trials[0].ByClient = &record.ByClient{Evenness: record.Evenness{Count: 3, Mean: 2, Median: 2, Most: 4}, Operations: []uint64{0, 2, 4}}
	all, _ := Charts(run, nil, AllCharts)
	more, _ := Charts(steps, nil, AllCharts)
	for _, f := range append(all, more...) {
		if err := f.chart.PNG(io.Discard, f.subject, chart.Pixels{Scale: 0.25}); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// The page has charts and sentences about ladder steps. Each chart is also a file.
func TestPageHasSteps(t *testing.T) {
	settle.SkipUnderRace(t)
	run := ladderOf(t, "steps", 6)
	text := pageOfRun(t, run)
	for _, want := range []string{`<h2>Steps</h2>`, `id="steps-closed"`, `id="scaling-closed"`, `class="s0 knee"`, `class="s0 l fitted"`, "Knee (best ratio of throughput to mean time): 16 clients", "Universal Scalability Law (Gunther): λ", `href="#steps"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	files, _ := Charts(run, nil, AllCharts)
	for _, want := range []string{"steps-closed", "scaling-closed"} {
		textOf(t, files, want)
	}
}

// The answer reports a bottleneck that all trials share in one sentence.
func TestAnswerListsSharedLimitsOnce(t *testing.T) {
	settle.SkipUnderRace(t)
	run := ladderOf(t, "limits", 5)
	text := pageOfRun(t, run)
	if n := strings.Count(text, "limited by member pauses"); n != 1 {
		t.Errorf("the page states the shared limit %d times, want once", n)
	}
	if !strings.Contains(text, "all trials</b> were limited by member pauses: members waited") {
		t.Errorf("the answer does not state that all trials share the limit: %s", text[strings.Index(text, "<h2>Answer"):strings.Index(text, "<h2>Table")])
	}
}

func TestBrowserShowsStoresTogether(t *testing.T) {
	run := severalStores(t, "stores", "etcd", "zookeeper", "consul")
	b := browse(t, writtenText(t, pageOfRun(t, run)))
	b.hover("together-put-time-throughput", 4.5/12, 0.5)
	for _, c := range []struct{ figure, want string }{
		{"together-put-time-throughput", "2,000/s"}, {"together-put-time-mean", "800 ms"}, {"together-put-time-p99", "800 ms"}, {"together-put-time-memory", "7.00 MiB to 207 MiB"}, {"together-put-time-processors", "0.25 to 0.75"},
	} {
		for entry := range 3 {
			if got := b.legend(c.figure, entry+1); got != c.want {
				t.Errorf("the legend of %s shows %q for the store %d, want %q", c.figure, got, entry, c.want)
			}
		}
	}
	if got := b.Text("#together-put-time-throughput .readout"); got != "4 s" {
		t.Errorf("the time is %q", got)
	}
	if got := b.legend("together-put-writes-by-writes-mean", 1); got != "" {
		t.Errorf("the legend of the charts by writes shows %q for a point in time", got)
	}
	b.hover("together-put-writes-by-writes-p99", 9000.0/24000, 0.5) // second 4 begins with write 8,000
	if got := b.legend("together-put-writes-by-writes-mean", 2); got != "800 ms" {
		t.Errorf("the legend shows %q for write 9,000", got)
	}
	if got := b.Text("#together-put-writes-by-writes-memory .readout"); !strings.HasPrefix(got, "9,000 to 9,100 writes") {
		t.Errorf("the place is %q", got)
	}
	b.Click("#together-put-time-memory .legend li:nth-child(1)")
	if got := browser.Value[string](b.Browser, `getComputedStyle(document.querySelector("#together-put-time-memory path.s0.between")).display`); got != "none" {
		t.Errorf("after a click on its legend entry, a store's band has the display %q", got)
	}
	b.atPeace()
}

func TestBrowserShowsSteps(t *testing.T) {
	settle.LongOnly(t, "TestBrowserShowsValuesInAllCharts and other tests in the browser")
	run := ladderOf(t, "steps", 6)
	b := browse(t, writtenText(t, pageOfRun(t, run)))
	spot := browser.Value[[]float64](b.Browser, `(() => { const s = JSON.parse(document.querySelector("#scaling-closed script").textContent)[0][2]; return [s.x, s.y]; })()`)
	b.hover("scaling-closed", spot[0]+0.01, spot[1]+0.01)
	if got := b.Text("#scaling-closed .readout"); !strings.Contains(got, ", 16 clients: ") || !strings.Contains(got, "/s, p50 1.00 ms") {
		t.Errorf("the readout of the third step is %q", got)
	}
	b.Click("#steps-closed .legend li:nth-child(1)")
	if n := browser.Value[float64](b.Browser, `[...document.querySelectorAll("#steps-closed .plot path.s0")].filter(p => getComputedStyle(p).display !== "none").length`); n != 0 {
		t.Errorf("the hidden ladder still has %v visible paths", n)
	}
	b.atPeace()
}

// textOf returns the text of the file with the given name. The test fails if the file does not
// exist or is not well-formed.
func textOf(t *testing.T, files []File, name string) string {
	t.Helper()
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no file %s", name)
	}
	wellFormed(t, files[i].Text)
	return files[i].Text
}
