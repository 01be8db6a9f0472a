package report

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// TestReportStatesWhetherAClusterCanCarryTheLoad checks the statement whether a cluster can carry a
// load. The answer is unknown if the rate is within the interval of the capacity, or above the
// lower end of an interval without an upper end.
func TestReportStatesWhetherAClusterCanCarryTheLoad(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		upper *float64
		want  any
	}{
		{100, new(200.0), true}, {150, new(200.0), nil}, {201, new(200.0), false}, {100, nil, true}, {150, nil, nil},
	} {
		s := &size.Sized{Load: size.Load{Rate: c.rate}, Curve: &size.CapacityFinding{Capacity: &record.Capacity{LowerPerSecond: 100, UpperPerSecond: c.upper}}}
		if got := canCarry(s); got != c.want {
			t.Errorf("rate %v, capacity 100 to %v a second: canCarry returns %v, want %v", c.rate, c.upper, got, c.want)
		}
	}
}
