package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a median contains the true value at least as often as promised. This is true for
// any distribution, even for one with two peaks, which is common for outages.
func TestMedianIntervalCoversTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		draw  func() float64
		truth float64
	}{
		"exponential": {r.ExpFloat64, math.Ln2},
		"normal":      {r.NormFloat64, 0},
		"two modes": {func() float64 {
			if r.Float64() < 0.4 {
				return r.Float64()
			}
			return 100 + r.Float64()
		}, 100 + 1.0/6},
	} {
		for _, n := range []int{MinForMedian, 10, 37} {
			const times = 4000
			held := 0
			for range times {
				values := make([]float64, n)
				for i := range values {
					values[i] = c.draw()
				}
				i, ok := Median(values, Level)
				if !ok || i.Low > i.Value || i.High < i.Value {
					t.Fatalf("%s: %d values have %+v, %v", name, n, i, ok)
				}
				if i.Low <= c.truth && c.truth <= i.High {
					held++
				}
			}
			// For 4,000 trials, four standard errors are 1.4 %.
			if share := float64(held) / times; share < Level-0.014 {
				t.Errorf("%s, %d values: the share of intervals that contain the median is %.3f", name, n, share)
			}
		}
	}
}

func TestMedianOfFew(t *testing.T) {
	if i, ok := Median([]float64{3, 1, 2, 9}, Level); ok || i.Value != 3 {
		t.Errorf("the median of four values is %+v, %v", i, ok)
	}
	if i, ok := Median([]float64{6, 5, 4, 3, 2, 1}, Level); !ok || i.Low != 1 || i.High != 6 || i.Value != 4 {
		t.Errorf("the median of six values is %+v, %v", i, ok)
	}
	if i, ok := Median([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Level); !ok || i.Low != 2 || i.High != 9 {
		t.Errorf("the median of ten values is %+v, %v", i, ok)
	}
	for _, none := range [][]float64{nil, {1, 2, 3, 4, 5, math.NaN()}} {
		if _, ok := Median(none, Level); ok {
			t.Errorf("%v has a median", none)
		}
	}
}
