package compare

import (
	"math"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
)

func showRatio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func showMemory(v float64) string { return readable.Bytes(uint64(v)) }

func showCount(v float64) string { return readable.Count(uint64(math.Round(v))) }

// showSpread writes "median (min-max)", without the unit in the brackets where
// it is the same.
func showSpread(s Spread, show func(float64) string) string {
	if s.N == 0 {
		return "-"
	}
	median := show(s.Median)
	if s.N == 1 {
		return median
	}
	low, high := show(s.Min), show(s.Max)
	if number, unit, found := strings.Cut(low, " "); found && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return median + " (" + low + "-" + high + ")"
}
