package analyze

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// overTime calls ReadOverTime for the trial in a generated run.
func overTime(t *testing.T, m *made, columns int) *OverTime {
	t.Helper()
	figures.ReadEvents(m.run, m.dir)
	o, err := ReadOverTime(&m.run.Trials[0], columns)
	must(t, err)
	return o
}

// panelOf returns the panel with the given name, or nil if there is none.
func (o *OverTime) panelOf(name string) *Panel {
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
	m := shape{seed: 3, seconds: 20, perSecond: 20_000, failures: 0.001, open: true, idle: 5, skip: []int{7, 8}}.record(t)
	o := overTime(t, m, 1000)
	if o.Grid.From != -1 || o.Grid.Width != 1 || o.Grid.Columns != 21 {
		t.Fatalf("the grid is %+v", o.Grid)
	}
	rate, latency := o.panelOf("throughput").Lines[0], o.panelOf("latency").Lines
	seen := map[int]bool{}
	for _, r := range m.run.Trials[0].Timeline {
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
			t.Errorf("column %d has a throughput, and nothing was recorded of it", i)
		}
	}
}

// With any number of columns, the charts keep the minimum and the maximum over all seconds, and the
// heat map contains every operation.
func TestFewColumnsKeepExtremes(t *testing.T) {
	settle.SkipUnderRace(t)
	m := shape{seed: 4, seconds: 100, perSecond: 3000, idle: -1}.record(t)
	whole := overTime(t, m, 1000)
	for _, columns := range []int{1, 7, 50, 99, 101} {
		o := overTime(t, m, columns)
		if o.Grid.Columns > columns {
			t.Fatalf("%d columns are more than %d", o.Grid.Columns, columns)
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
		if want := uint64(m.service.TotalCount()); sum < want || sum > want+3000 {
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
	m := shape{seed: 5, seconds: 10, perSecond: 5000, open: true, idle: -1}.record(t)
	c := overTime(t, m, 100).Curves[0]
	last := 0.0
	for _, p := range c.Points {
		if p.Nanoseconds < last {
			t.Fatalf("it falls at %v", p.Percentile)
		}
		last = p.Nanoseconds
		if rank := math.Ceil(p.Percentile / 100 * float64(c.Count)); p.Reliable != (float64(c.Count)-max(rank, 1) >= measure.MinBeyond) {
			t.Errorf("percentile %v of %d: sure is %v", p.Percentile, c.Count, p.Reliable)
		}
		if want := measure.Percentile(m.response, 0, math.Round(p.Percentile*1000)/1000); want.Known && math.Abs(p.Nanoseconds-want.NS) > 0.02*want.NS+2*measure.Lowest {
			t.Errorf("percentile %v is %v and not %v", p.Percentile, p.Nanoseconds, want.NS)
		}
	}
	if slowest := float64(m.response.ValueAtPercentile(100)); last != slowest {
		t.Errorf("it ends at %v, and the slowest took %v", last, slowest)
	}
	if c.Count != uint64(m.response.TotalCount()) || len(c.Points) < 40 {
		t.Errorf("it has %d points of %d operations", len(c.Points), c.Count)
	}
	failing := shape{seed: 6, seconds: 5, perSecond: 1000, failures: 0.3, open: true, idle: -1}.record(t)
	c = overTime(t, failing, 100).Curves[0]
	if end := c.Points[len(c.Points)-1].Percentile; end > 71 || end < 60 {
		t.Errorf("with 30 %% failed it ends at %v %%", end)
	}
}

// withP99 returns a trial whose timeline has the given p99 values in milliseconds, one per second.
// A value of 0 means that all operations in that second failed. A negative value means that almost
// no operation was done.
func withP99(p99 ...float64) *record.Trial {
	opened := noon
	t := &record.Trial{State: record.Complete, Opened: &opened, Seconds: float64(len(p99))}
	for i, ms := range p99 {
		r := record.Row{Time: noon.Add(time.Duration(i) * time.Second), Phase: measure.Measured.String(), Second: i, Due: 1000, Done: 1000, OK: 1000}
		switch {
		case ms == 0:
			r.Errors, r.OK, r.Done = 1000, 0, 0
		case ms < 0:
			r.Done, r.P99 = 3, measure.Figure{NS: 5e6, Known: true}
		default:
			r.P99 = measure.Figure{NS: ms * 1e6, Known: true}
		}
		t.Timeline = append(t.Timeline, r)
	}
	return t
}

func TestSpikesAreFoundAndExplained(t *testing.T) {
	if s := Spikes(withP99(5, 6, 5, 7, 9, 5, 6)); len(s) != 0 {
		t.Errorf("an even trial has the spikes %+v", s)
	}
	short := withP99(5, 5, 5, 5, 50)
	short.Seconds, short.Timeline[4].Done = 4.5, 500
	if s := Spikes(short); len(s) != 1 || s[0].LowestRate != 1000 {
		t.Errorf("the window's last half second is %+v", s)
	}
	trial := withP99(5, 6, 5, 800, 600, 5, 6, 0, 5, -1, 5, 5)
	trial.Events = []record.Event{
		{Time: noon.Add(3500 * time.Millisecond), Kind: "slow_fsync", Member: "m3", Duration: 1040 * time.Millisecond, Line: "slow fdatasync"},
		{Time: noon.Add(10900 * time.Millisecond), Kind: "snapshot_done", Member: "m1", Line: "saved snapshot"},
	}
	trial.Roles = record.RoleHistory{{Name: "m3", Role: "leader", Since: noon}}
	s := Spikes(trial)
	if len(s) != 3 {
		t.Fatalf("found %+v", s)
	}
	if s[0].From != 3 || s[0].Seconds != 2 || s[0].Worst.NS != 800e6 || s[0].Usual.NS != 5e6 {
		t.Errorf("the first is %+v", s[0])
	}
	if len(s[0].Coincided) != 1 || s[0].Coincided[0].Member != "m3" || !s[0].Coincided[0].Leader ||
		s[0].Coincided[0].Text != "synced its log slowly (1.04 s) at 3.5 s" {
		t.Errorf("the first coincides with %+v", s[0].Coincided)
	}
	if s[1].From != 7 || !s[1].Worst.Failed || s[1].Errors != 1000 || len(s[1].Coincided) != 0 {
		t.Errorf("the second is %+v", s[1])
	}
	if s[2].From != 9 || s[2].LowestRate != 3 || len(s[2].Coincided) != 0 {
		t.Errorf("the third is %+v", s[2])
	}
}

// If there are many spikes, the worst ones are explained, in order of time.
func TestOnlyTheWorstSpikesAreExplained(t *testing.T) {
	var all []float64
	for i := range 40 {
		all = append(all, 5, 5, 5, 20+float64(i))
	}
	s := Spikes(withP99(all...))
	if len(s) != maxSpikes {
		t.Fatalf("%d are found", len(s))
	}
	for i := range s {
		if want := float64(4*(35+i) + 3); s[i].From != want {
			t.Errorf("the spike %d is at %v and not %v", i, s[i].From, want)
		}
	}
}

// If a log contains more series than a run can write, only a limited number of series is read. This
// limit also bounds the memory use.
func TestSeriesOfAHostileLogAreBounded(t *testing.T) {
	settle.SkipUnderRace(t)
	m := shape{seed: 4, seconds: 2, perSecond: 100, idle: -1}.record(t)
	figures.ReadEvents(m.run, m.dir)
	one := &m.run.Trials[0]
	path := filepath.Join(m.dir, one.Folder, "latency.hlog")
	log, err := os.ReadFile(path)
	must(t, err)
	const tag = "Tag=measured.service.put.none.1.2,"
	from := bytes.Index(log, []byte(tag))
	line, _, _ := bytes.Cut(log[from+len(tag):], []byte("\n"))
	for term := range 10 * maxSeries {
		log = fmt.Appendf(log, "Tag=measured.service.put.none.1.%d,%s\n", term, line)
	}
	must(t, os.WriteFile(path, log, 0o600))
	x := newTimesReader(&OverTime{Trial: one, Grid: gridOf(one, 10)})
	if err := x.read(); err == nil || !strings.Contains(err.Error(), "latency.hlog contains more than 512 series (operation, consistency, member, term)") || len(x.all) != maxSeries {
		t.Errorf("%d series are read, and %v", len(x.all), err)
	}
	if o, err := ReadOverTime(one, 10); err == nil || o.panelOf("throughput") == nil {
		t.Errorf("%v, and nothing is drawn", err)
	}
}
