package text

import (
	"math"
	"testing"
)

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, ""},
		{[]float64{0, 0}, "▁▁"},
		{[]float64{0, 4, 8}, "▁▅█"},
		{[]float64{3, math.NaN(), 3}, "█ █"},
		{[]float64{-1, 1, math.Inf(1)}, "▁██"},
	} {
		if got := Sparkline(c.values); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
