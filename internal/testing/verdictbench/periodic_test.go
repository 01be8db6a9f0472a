package verdictbench

import (
	"math"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The store responds after 20 ms, but to every 50th request after 300 ms. Therefore p50 and p99 do
// not change if the generator is stopped for 130 ms of each second. But p90 and p95 become several
// times too high, and the verdict must state the effect on each of them.
func TestStopsThatMoveOnlyP90(t *testing.T) {
	settle.SkipUnderRace(t)
	times := simulate.ResponseTimes{Median: 20e6, Every: 50, Long: 15}
	for _, arrival := range []scenario.Arrival{scenario.Constant, scenario.Poisson} {
		l := scenario.Load{
			Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Connections: 4, Threads: 1, Arrival: arrival,
			KeySize: 8, ValueSize: 16, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
			Timeout: 10 * time.Second, MaxInFlight: 100_000, Seed: 1, Warmup: time.Second, Duration: 12 * time.Second,
		}
		l.Rate.PerSecond = 1000
		s := subject{load: l, server: func() simulate.Server { return &simulate.Delaying{Times: times} }}
		truth, err := s.run(1, func() simulate.Machine { q := quietMachine(1); return &q }, nil)
		if err != nil {
			t.Fatal(err)
		}
		if truth.Verdict.State != verdict.Valid {
			t.Errorf("%v: without a disturbance, the verdict is %+v", arrival, truth.Verdict)
		}
		got, err := s.run(2, func() simulate.Machine {
			return &simulate.Interrupted{Quiet: quietMachine(2), Spans: simulate.PeriodicSpans(1e9, 130e6, 7)}
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		off := map[string]float64{}
		for _, d := range Deviations(truth, got) {
			off[d.Figure] = d.Off
			if d.IsFalseNegative() || d.IsFalseAlarm() {
				t.Errorf("%v: %s is off by %.3f, but its state is %s", arrival, d.Figure, d.Off, d.State)
			}
			if claimed := got.Verdict.Effect.ForFigure(d.Figure); math.Abs(claimed-d.Off) > 0.02+0.15*d.Off {
				t.Errorf("%v: %s is off by %.3f, but the verdict reports %.3f", arrival, d.Figure, d.Off, claimed)
			}
		}
		if off["p90"] < 2 || math.Abs(off["p50"]) > NearBy || math.Abs(off["p99"]) > NearBy || math.Abs(off["ops"]) > NearBy {
			t.Errorf("%v: the deviations %v do not fit this test, in which only p90 should be far off", arrival, off)
		}
	}
}
