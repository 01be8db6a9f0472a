package chart

import (
	"math"
	"testing"
)

// The labels of percentiles are exact and fit the screen of a phone, regardless of how many nines a
// sample supports.
func TestPercentileLabelsFit(t *testing.T) {
	const width, spacing, letter = 298, 20, 6.7  // in pixels: width of the plot, room to its right, and width of a digit
	for right := 1.0; right < 12; right += 0.1 { // 10¹² operations take a month
		end := math.Inf(-1)
		labels := 0
		for _, tick := range percentileTicks(right) {
			if tick.label == "" {
				continue
			}
			labels++
			long := letter * float64(len(tick.label)-1) // the point is narrow
			at := width * tick.value / right
			from := at - long/2
			if tick.value/right > 0.97 {
				from = at - long
			}
			if from <= end || from+long > width+spacing {
				t.Errorf("axis up to %.1f nines: the label %q covers %.0f to %.0f, and the previous label ends at %.0f", right, tick.label, from, from+long, end)
			}
			end = from + long
		}
		if labels < 2 {
			t.Errorf("axis up to %.1f nines: only %d ticks have a label", right, labels)
		}
	}
	if ticks := percentileTicks(8); ticks[6].label != "99.9999 %" || ticks[3].label != "99.9 %" {
		t.Errorf("%+v", ticks)
	}
}
