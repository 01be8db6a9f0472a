package overtime

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// overTime calls Read for the trial in a generated run.
func overTime(t *testing.T, m *runs.RandomRun, columns int) *Charts {
	t.Helper()
	figures.ReadTrialFiles(m.Run, m.Dir)
	o, err := Read(&m.Run.Trials[0], columns)
	must(t, err)
	return o
}

// panelOf returns the panel with the given name, or nil if there is none.
func (o *Charts) panelOf(name string) *Panel {
	for i := range o.Panels {
		if o.Panels[i].Name == name {
			return &o.Panels[i]
		}
	}
	return nil
}

func equalOrNaN(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// If each column is one second wide, the charts show exactly the values in the timeline, including
// the warm-up and gaps.
func TestOverTimeIsTheTimeline(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 3, Seconds: 20, PerSecond: 20_000, Failures: 0.001, Open: true, Idle: 5, Skip: []int{7, 8}}.Record(t)
	o := overTime(t, m, 1000)
	if o.Grid.From != -1 || o.Grid.Width != 1 || o.Grid.Columns != 21 {
		t.Fatalf("the grid is %+v", o.Grid)
	}
	rate, latency := o.panelOf("throughput").Lines[0], o.panelOf("latency").Lines
	seen := map[int]bool{}
	for _, r := range m.Run.Trials[0].Timeline {
		i := r.Second + 1
		if r.Phase == measure.Warmup.String() {
			i = 0
		}
		seen[i] = true
		if rate.Low[i] != float64(r.Done) || rate.High[i] != rate.Low[i] {
			t.Errorf("column %d has throughput %v to %v and not %d", i, rate.Low[i], rate.High[i], r.Done)
		}
		for j, f := range []measure.Figure{r.P50, r.P99, r.P999} {
			want := math.NaN()
			if f.Known {
				want = f.NS
			}
			if !equalOrNaN(latency[j].High[i], want) {
				t.Errorf("column %d has %s %v and not %v", i, latency[j].Name, latency[j].High[i], want)
			}
		}
	}
	for i := range o.Grid.Columns {
		if !seen[i] && !math.IsNaN(rate.Low[i]) {
			t.Errorf("column %d has a throughput, although no second of it was recorded", i)
		}
	}
}

// With any number of columns, the charts keep the minimum and the maximum over all seconds, and the
// heat map contains every operation.
func TestFewColumnsKeepExtremes(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 4, Seconds: 100, PerSecond: 3000, Idle: -1}.Record(t)
	whole := overTime(t, m, 1000)
	for _, columns := range []int{1, 7, 50, 99, 101} {
		o := overTime(t, m, columns)
		if o.Grid.Columns > columns {
			t.Fatalf("the grid has %d columns, want at most %d", o.Grid.Columns, columns)
		}
		for i := range whole.Panels {
			for j := range whole.Panels[i].Lines {
				a, b := &whole.Panels[i].Lines[j], &o.Panels[i].Lines[j]
				if least(a.Low) != least(b.Low) || highest(a.High) != highest(b.High) {
					t.Errorf("%d columns: %s %s is from %v to %v, and not from %v to %v", columns, whole.Panels[i].Name, a.Name,
						least(b.Low), highest(b.High), least(a.Low), highest(a.High))
				}
			}
		}
		sum := uint64(0)
		for _, column := range o.Heat.Counts {
			for _, n := range column {
				sum += n
			}
		}
		// The heat map includes the warm-up.
		if want := uint64(m.Service.TotalCount()); sum < want || sum > want+3000 {
			t.Errorf("%d columns: the heat map has %d operations, and the window had %d", columns, sum, want)
		}
	}
}

func least(all []float64) float64 {
	x := math.Inf(1)
	for _, v := range all {
		if !math.IsNaN(v) {
			x = min(x, v)
		}
	}
	return x
}

func highest(all []float64) float64 {
	x := math.Inf(-1)
	for _, v := range all {
		if !math.IsNaN(v) {
			x = max(x, v)
		}
	}
	return x
}

// A cell of the heat map counts the operations whose times are between the edges of the cell.
func TestHeatMapRows(t *testing.T) {
	g := Grid{Width: 1, Columns: 1}
	for _, ns := range []int64{8, 100, 999, 1_000, 52_100, 1e6, 999e6, 60e9, measure.Highest} {
		h := measure.NewHistogram()
		measure.Record(h, ns)
		c := newHeatCounter(&g)
		steps := measure.NonEmptySteps(h)
		c.add(0, &steps)
		m := c.finish("x")
		if m.Rows != 1 || m.Counts[0][0] != 1 {
			t.Fatalf("%d ns: %+v", ns, m)
		}
		step := float64(measure.StepFloor(ns))
		if low, high := m.Edge(0), m.Edge(1); step < low*(1-1e-9) || step > high*(1+1e-9) {
			t.Errorf("%d ns is in the row from %v to %v", ns, low, high)
		}
	}
}

// A curve ascends, agrees with the percentiles in the table, ends at the slowest operation, and
// marks the points that have fewer than ten operations above them.
func TestPercentileCurve(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 5, Seconds: 10, PerSecond: 5000, Open: true, Idle: -1}.Record(t)
	c := overTime(t, m, 100).Curves[0]
	last := 0.0
	for _, p := range c.Points {
		if p.Nanoseconds < last {
			t.Fatalf("the curve decreases at percentile %v", p.Percentile)
		}
		last = p.Nanoseconds
		if rank := math.Ceil(p.Percentile / 100 * float64(c.Count)); p.Reliable != (float64(c.Count)-max(rank, 1) >= measure.MinBeyond) {
			t.Errorf("percentile %v of %d operations: Reliable is %v", p.Percentile, c.Count, p.Reliable)
		}
		if want := measure.Percentile(m.Response, 0, math.Round(p.Percentile*1000)/1000); want.Known && math.Abs(p.Nanoseconds-want.NS) > 0.02*want.NS+2*measure.Lowest {
			t.Errorf("percentile %v is %v and not %v", p.Percentile, p.Nanoseconds, want.NS)
		}
	}
	if slowest := float64(m.Response.ValueAtPercentile(100)); last != slowest {
		t.Errorf("the curve ends at %v, want the slowest operation at %v", last, slowest)
	}
	if c.Count != uint64(m.Response.TotalCount()) || len(c.Points) < 40 {
		t.Errorf("the curve has %d points for %d operations", len(c.Points), c.Count)
	}
	failing := runs.Random{Seed: 6, Seconds: 5, PerSecond: 1000, Failures: 0.3, Open: true, Idle: -1}.Record(t)
	c = overTime(t, failing, 100).Curves[0]
	if end := c.Points[len(c.Points)-1].Percentile; end > 71 || end < 60 {
		t.Errorf("with 30 %% failed operations, the curve ends at percentile %v", end)
	}
}

// If a log contains more series than a run can write, only a limited number of series is read. This
// limit also bounds the memory use.
func TestSeriesOfAHostileLogAreBounded(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 4, Seconds: 2, PerSecond: 100, Idle: -1}.Record(t)
	figures.ReadTrialFiles(m.Run, m.Dir)
	one := &m.Run.Trials[0]
	path := filepath.Join(m.Dir, one.Folder, "latency.hlog")
	log, err := os.ReadFile(path)
	must(t, err)
	const tag = "Tag=measured.service.put.none.1.2,"
	from := bytes.Index(log, []byte(tag))
	line, _, _ := bytes.Cut(log[from+len(tag):], []byte("\n"))
	for term := range 10 * maxSeries {
		log = fmt.Appendf(log, "Tag=measured.service.put.none.1.%d,%s\n", term, line)
	}
	must(t, os.WriteFile(path, log, 0o600))
	x := newTimesReader(&Charts{Trial: one, Grid: gridOf(one, 10)})
	if err := x.read(); err == nil || !strings.Contains(err.Error(), "latency.hlog contains more than 512 series (operation, consistency, member, term)") || len(x.all) != maxSeries {
		t.Errorf("the reader keeps %d series and returns the error %v", len(x.all), err)
	}
	if o, err := Read(one, 10); err == nil || o.panelOf("throughput") == nil {
		t.Errorf("Read returns the error %v, want an error and a throughput chart", err)
	}
}
