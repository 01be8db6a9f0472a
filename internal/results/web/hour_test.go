package web

import (
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The page of a long run has the same size limit as the page of a short run. If a column of a chart
// represents several seconds, it preserves all extreme values.
func TestPageOfALongRun(t *testing.T) {
	settle.SkipUnderRace(t)
	hour := runs.Hour
	hour.Seconds, hour.PerSecond = 1450, 30 // the size of the page depends on the numbers of seconds and members, but hardly on the number of operations
	dir := hour.Record(t, t.TempDir())
	run := opened(t, dir)
	text := pageOfRun(t, run)
	if !strings.Contains(text, "Each column is ") || !strings.Contains(text, `id="t1-1-latency"`) {
		t.Error("the page has no charts with columns of several seconds")
	}
	if n := strings.Count(text, "<"); n > 20_000 {
		t.Errorf("the page has %d tags, want at most 20,000", n)
	}
	charts, problems := Charts(run, nil, AllCharts)
	if len(problems) > 0 {
		t.Error(problems)
	}
	for _, c := range charts {
		wellFormed(t, c.Text)
		if len(c.Text) > maxPageBytes {
			t.Errorf("%s has %d bytes", c.Name, len(c.Text))
		}
	}
	over, err := overtime.Read(&run.Trials[0], columnSteps[0])
	must(t, err)
	low, high := extremes(over, "latency", "max")
	if most := float64(runs.StallTime); high < most || high > 1.01*most || !(low < high) {
		t.Errorf("the slowest operation took %v, and the chart's highest point is %v", runs.StallTime, high)
	}
	low, high = extremes(over, "throughput", "completed")
	if low != 0 || high < float64(hour.PerSecond) {
		t.Errorf("the throughput chart goes from %v to %v, want 0 as its minimum, because one second had no operations", low, high)
	}
	whole := run.Trials[0].SuccessResponseTime
	if curve := over.Curves[0].Points; curve[len(curve)-1].Nanoseconds < whole.Max.NS {
		t.Errorf("the curve ends at %v, and the slowest took %v", curve[len(curve)-1].Nanoseconds, whole.Max.NS)
	}
	counted := uint64(0)
	for _, column := range over.Heat.Counts {
		for _, n := range column {
			counted += n
		}
	}
	if counted < run.Trials[0].Operations {
		t.Errorf("the heat map has %d of %d operations", counted, run.Trials[0].Operations)
	}
}

// extremes returns the minimum and the maximum of a line.
func extremes(over *overtime.Charts, panel, name string) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range over.Panels {
		for _, l := range p.Lines {
			if p.Name != panel || l.Name != name {
				continue
			}
			for i := range l.Low {
				if !math.IsNaN(l.Low[i]) {
					low, high = min(low, l.Low[i]), max(high, l.High[i])
				}
			}
		}
	}
	return low, high
}
