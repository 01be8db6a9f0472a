package report

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// TestBoundOfOneIsDistinguishedFromNone checks the result of a search for a whole number with the
// lower bound 0. The objective may have held at 1, but not certainly; the result is then an
// interval. The result is "none" only if the search found that the objective holds nowhere.
func TestBoundOfOneIsDistinguishedFromNone(t *testing.T) {
	t.Parallel()
	kept := []record.CapacityTrial{{Value: 1, Holds: true}, {Value: 2}}
	missed := []record.CapacityTrial{{Value: 1}, {Value: 2}}
	for _, c := range []struct {
		status capacity.Status
		trials []record.CapacityTrial
		upper  float64
		want   string
		none   bool
	}{
		{capacity.Found, kept, 1, "0–1 (95 % interval, 200.0 % wide), at a rate of up to 40/s", false},
		{capacity.TimeOver, kept, 1, "0–1 (95 % interval, 200.0 % wide), at a rate of up to 40/s", false},
		{capacity.HoldsNowhere, missed, 1, "none: the objective is missed at 1", true},
		{capacity.HoldsNowhere, kept, 1, "none: the objective is missed at 1", true},
		{capacity.TimeOver, missed[1:], 2, "none: the objective is missed at 2", false},
	} {
		f := &size.CapacityFinding{Capacity: &record.Capacity{Parameter: "clusters", Level: 0.95, Lower: new(0.0), Upper: new(c.upper), UpperPerSecond: new(40.0), Status: string(c.status), Trials: c.trials}}
		f.Curve = []size.CapacityPoint{{}}
		if got := capacityInterval(f); got != c.want || f.HoldsNowhere() != c.none {
			t.Errorf("%s after %+v: %q, none %v; want %q, %v", c.status, c.trials, got, f.HoldsNowhere(), c.want, c.none)
		}
	}
}

// TestCapacityNextToBusyProgramsHasAWarning checks that the warning counts only trials that missed
// the objective, are not void, and were disturbed by other programs or the host.
func TestCapacityNextToBusyProgramsHasAWarning(t *testing.T) {
	t.Parallel()
	point := func(rule int, holds bool, void string) size.CapacityPoint {
		trial := &record.Trial{Verdict: verdict.Verdict{Reasons: []verdict.Reason{{Rule: rule}}}}
		return size.CapacityPoint{Trial: trial, CapacityTrial: record.CapacityTrial{Rate: 100, Holds: holds, VoidReason: void}}
	}
	for want, curve := range map[string][]size.CapacityPoint{
		"": {point(23, true, ""), point(23, false, "void"), point(5, false, "")},
		"In 2 of 3 trials that missed the objective, other programs": {point(23, false, ""), point(10, false, ""), point(7, false, ""), point(23, true, "")},
		"In 1 of 1 trial that missed the objective, other programs":  {point(23, false, "")},
	} {
		f := &size.CapacityFinding{Capacity: &record.Capacity{LowerPerSecond: 100, UpperPerSecond: new(200.0)}, Curve: curve}
		said := strings.Join(CapacitySentences(f), "\n")
		if strings.Contains(said, "other programs") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%d trials: %q", len(curve), said)
		}
	}
}
