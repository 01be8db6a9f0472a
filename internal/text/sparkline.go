package text

import (
	"math"
	"strings"
)

// sparks are the bars of a sparkline, from the lowest to the highest.
var sparks = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws each value as a bar that is one column wide. The heights range from 0 to the
// largest value. An unknown value (NaN) becomes a space. For example, Sparkline([]float64{0, 4, 8})
// returns "▁▅█".
func Sparkline(values []float64) string {
	most := 0.0
	for _, v := range values {
		if v > most && !math.IsInf(v, 0) {
			most = v
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case !(v > 0) || most == 0:
			b.WriteRune(sparks[0])
		default:
			b.WriteRune(sparks[int(math.Round(float64(len(sparks)-1)*math.Min(v/most, 1)))])
		}
	}
	return b.String()
}
