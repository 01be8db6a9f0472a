package analyze

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// TestRunsAtTwoTimesUnderHeavyDisturbanceAreUnclear compares two sides. One side was disturbed: the
// disturbances may have changed the values of its repeats by 50 % or more. The change may be judged
// only if the repeats of the two sides alternated.
func TestRunsAtTwoTimesUnderHeavyDisturbanceAreUnclear(t *testing.T) {
	now := Repeated{Values: []figures.Value{fig(108), fig(107), fig(109), fig(107.5), fig(108.5), fig(108)}, Effects: []float64{-0.6, -0.7, -0.5, -0.9, -0.6, -0.6}}
	base := Repeated{Values: []figures.Value{fig(100), fig(101), fig(99), fig(100.5), fig(99.5), fig(100)}, Effects: []float64{0, 0, 0, 0, 0, 0}}
	if c := ChangeOf(now, base, false); c.Interval || c.Judgement.Word != stats.Unclear || !strings.Contains(c.IntervalLackReason, "disturbances may have changed at least half of the repeats") {
		t.Errorf("two runs: %+v", c)
	}
	if c := ChangeOf(now, base, true); !c.Interval {
		t.Errorf("the repeats of one run that alternated have no interval: %+v", c)
	}
	for i := range now.Effects {
		now.Effects[i] /= 10
	}
	if c := ChangeOf(now, base, false); !c.Interval {
		t.Errorf("with effects of 5 to 9 %%, the change has no interval: %+v", c)
	}
}
