package size

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// If the load's rate or the capacity is outside the range of the trials, the use at that rate is an
// estimate, and the result says so. A single trial does not show the use at other rates.
func TestExtrapolatedUsesAreMarked(t *testing.T) {
	trial := &record.Trial{Counts: record.Counts{PerSecond: 1000}, Opened: new(time.Unix(1000, 0)), Seconds: 5}
	for _, c := range []struct {
		load, lower float64
		want        []string
	}{
		{950, 950, nil},
		{500, 950, []string{"the load's rate is below the lowest"}},
		{950, 2900, []string{"the lower bound of the capacity is above the highest rate that met the objective in the search, 1000 per second"}},
		{1500, 2900, []string{"the load's rate is above the highest", "the lower bound of the capacity is above the highest"}},
	} {
		f := &CapacityFinding{Capacity: &record.Capacity{LowerPerSecond: c.lower}, First: trial, Curve: []CapacityPoint{{trial, record.CapacityTrial{Rate: 1000, Holds: true}}}}
		s, err := sizeBy(&record.Run{}, f, Load{Rate: c.load}, func(string) store.Sizer { return nil })
		if err != nil {
			t.Fatal(err)
		}
		extrapolated := slices.DeleteFunc(s.Notes, func(note string) bool { return !strings.Contains(note, "extrapolated") })
		if !slices.EqualFunc(extrapolated, c.want, func(note, want string) bool { return strings.Contains(note, want) }) {
			t.Errorf("load %.0f, capacity of at least %.0f: the notes about extrapolation are %q", c.load, c.lower, extrapolated)
		}
	}
}
