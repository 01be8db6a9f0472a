package text

import (
	"math"
	"strings"
)

// bars are the bars of a sparkline, from the lowest to the highest.
var bars = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws each value as a bar that is one column wide. The heights range from 0 to the
// largest value. An unknown value (NaN) becomes a space. For example, Sparkline([]float64{0, 4, 8})
// returns "▁▅█".
func Sparkline(values []float64) string {
	largest := 0.0
	for _, v := range values {
		if v > largest && !math.IsInf(v, 0) {
			largest = v
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case !(v > 0) || largest == 0:
			b.WriteRune(bars[0])
		default:
			b.WriteRune(bars[int(math.Round(float64(len(bars)-1)*math.Min(v/largest, 1)))])
		}
	}
	return b.String()
}
