package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"none", nil, Spread{}},
		{"one", []float64{3}, Spread{1, 3, 3, 3}},
		{"odd", []float64{5, 1, 3}, Spread{3, 3, 1, 5}},
		{"even: the mean of the middle two", []float64{8, 1, 2, 4}, Spread{4, 3, 1, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.values)
			if d := cmp.Diff(c.want, Summarize(c.values)); d != "" {
				t.Error(d)
			}
			if !slices.Equal(before, c.values) {
				t.Errorf("the values were reordered to %v", c.values)
			}
		})
	}
}

// At least half of the values must be at most the median, and at least half must be at least the
// median.
func TestMedianHalvesTheValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float64, 1+random.IntN(20))
		for i := range values {
			values[i] = float64(random.IntN(10))
		}
		s := Summarize(values)
		var low, high int
		for _, v := range values {
			if v <= s.Median {
				low++
			}
			if v >= s.Median {
				high++
			}
		}
		if 2*low < len(values) || 2*high < len(values) || s.Min > s.Median || s.Median > s.Max {
			t.Fatalf("the spread of %v is %+v", values, s)
		}
	}
}

// In as many consecutive rounds as there are peers, each peer must be in each position once.
func TestRotatedGivesEveryPlaceOnce(t *testing.T) {
	list := []string{"a", "b", "c"}
	for place := range list {
		seen := map[string]bool{}
		for round := range list {
			seen[Rotated(list, round+6)[place]] = true
		}
		if len(seen) != len(list) {
			t.Errorf("only these peers were in position %d: %v", place, seen)
		}
	}
	if got := Rotated([]string{}, 3); len(got) != 0 {
		t.Errorf("rotating an empty list returned %v", got)
	}
	if !slices.Equal(list, []string{"a", "b", "c"}) {
		t.Errorf("Rotated changed its argument to %v", list)
	}
}
