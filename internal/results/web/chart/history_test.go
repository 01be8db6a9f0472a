package chart

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
)

// The axis has few ticks, even if its values are large and close together.
func TestHistoryAxisHasFewTicks(t *testing.T) {
	for _, apart := range []float64{0, 1, 1e3, 1e12} {
		s := &history.Series{Metric: history.Metric{Unit: measure.Number}, Points: []history.Point{{Value: 1e15}, {Value: 1e15 + apart}}}
		scale := historyScale(s)
		if n := len(scale.ticks); n < 2 || n > 12 {
			t.Errorf("the axis has %d ticks if the values are %g apart", n, apart)
		}
		if !(scale.minimum <= 1e15 && scale.maximum >= 1e15+apart) {
			t.Errorf("the axis from %g to %g does not contain values that are %g apart", scale.minimum, scale.maximum, apart)
		}
	}
}
