package web

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestOverviewHasOneAxis checks that the length of each bar is a percentage of the largest value.
// It also checks that the interval of repeats contains the end of the bar.
func TestOverviewHasOneAxis(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "bars", seconds: 6, trials: 2}.record(t))
	run.Trials[1].PerSecond /= 4
	o := overviewOf(analyze.Rows(run), chooseTrials(run))
	if len(o.Rows) != 2 || o.P99Title != "service time p99" || o.More != "" {
		t.Fatalf("overview %+v", o)
	}
	first, second := o.Rows[0], o.Rows[1]
	if first.Link != "t1-1" || first.Verdict != "valid" || first.StoreName != "" {
		t.Errorf("row %+v", first)
	}
	if first.Throughput.End != "100.00%" && first.Throughput.High != "100.00%" {
		t.Errorf("no bar reaches the end of the axis: %+v", first.Throughput)
	}
	if first.Throughput.Text != "2,000/s" || second.Throughput.Text != "500/s" {
		t.Errorf("throughput %q and %q", first.Throughput.Text, second.Throughput.Text)
	}
}

// TestOverviewShowsTrialsWithoutResults checks trials that failed or whose percentiles are not
// known.
func TestOverviewShowsTrialsWithoutResults(t *testing.T) {
	run := opened(t, made{name: "failing", seconds: 6, trials: 1, failing: true}.record(t))
	o := overviewOf(analyze.Rows(run), chooseTrials(run))
	if row := o.Rows[0]; row.P99.Text != "none: over 1 % of operations failed" || row.P99.End != "" {
		t.Errorf("every operation failed, and the p99 is shown as %+v", row.P99)
	}
	run = opened(t, made{name: "killed", seconds: 6, trials: 1, killed: true}.record(t))
	o = overviewOf(analyze.Rows(run), chooseTrials(run))
	if row := o.Rows[0]; row.Throughput.Text != "-" || row.Throughput.End != "" || row.Verdict == "valid" {
		t.Errorf("a trial without a result is shown as %+v", row)
	}
}

// TestOverviewLimitsItsRows checks that an overview of many trials shows the number of omitted
// trials.
func TestOverviewLimitsItsRows(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "many", seconds: 1, trials: maxOverviewTrials + 3}.record(t))
	o := overviewOf(analyze.Rows(run), chooseTrials(run))
	if len(o.Rows) != maxOverviewTrials || !strings.HasPrefix(o.More, "3 more trials") {
		t.Errorf("%d rows, %q", len(o.Rows), o.More)
	}
	for _, row := range o.Rows {
		if row.Link == "" {
			t.Errorf("%s has no link", row.Name)
		}
	}
}
