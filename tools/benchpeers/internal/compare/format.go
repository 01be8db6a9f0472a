package compare

import (
	"fmt"
	"strconv"
	"strings"
)

func showRatio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func showMemory(v float64) string { return fmt.Sprintf("%.0f MiB", v/mebibyte) }

func showShare(v float64) string { return fmt.Sprintf("%.3f %%", 100*v) }

func showPercent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// showTime writes nanoseconds with three digits.
func showTime(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v >= u.size {
			return threeDigits(v/u.size) + " " + u.name
		}
	}
	return fmt.Sprintf("%.0f ns", v)
}

func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// showCount writes a whole number with its thousands grouped.
func showCount(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

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
