package chart

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The computation of an axis ends for any number that a record from another program may contain.
func TestAxesOfAnyNumberEnd(t *testing.T) {
	for _, most := range []float64{0, 1e-320, 1, 17, 1e299, 1.7e308} {
		for _, s := range []scale{linear(most, measure.Rate), logarithmic(most/1e6, most, measure.Nanoseconds)} {
			if len(s.ticks) == 0 || len(s.ticks) > 1000 || !(s.maximum > s.minimum) {
				t.Errorf("axis up to %v: the scale has %d ticks from %v to %v", most, len(s.ticks), s.minimum, s.maximum)
			}
		}
	}
}
