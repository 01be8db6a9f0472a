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

// Each store and number of members has a size of its own, even if the digits of the version and of
// the number of members are equal together.
func TestSizesOfVersionsAreSeparate(t *testing.T) {
	var runs []*record.Run
	for version, members := range map[string]int{"3.7.1": 3, "3.7.": 13} {
		one := record.Trial{Conditions: record.Conditions{Store: "etcd", Version: version, Members: members}, State: record.Complete, Counts: record.Counts{PerSecond: 1000, Due: 5000}, Opened: new(time.Unix(1000, 0)), Seconds: 5}
		runs = append(runs, &record.Run{State: record.Complete, Trials: []record.Trial{one}, Capacity: &record.Capacity{Status: "at least", LowerPerSecond: 1000, Trials: []record.CapacityTrial{{Rate: 1000, Holds: true, Purpose: "probe"}}}})
	}
	sizes, err := SizesOf(runs, Load{Rate: 500}, func(string) store.Sizer { return nil })
	if err != nil || len(sizes) != 2 {
		t.Errorf("the capacities of 2 clusters have %d sizes (%v), want 2", len(sizes), err)
	}
}
