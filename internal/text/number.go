package text

import (
	"math"
	"strconv"
	"strings"
)

// Duration formats nanoseconds with three significant digits in a suitable unit: 873 ns, 52.1 µs,
// 1.20 ms, 10.0 s. For a negative, infinite or NaN value, it returns a dash.
func Duration(ns float64) string {
	if math.IsNaN(ns) || math.IsInf(ns, 0) || ns < 0 {
		return Dash
	}
	if ns < 999.5 {
		return strconv.FormatFloat(ns, 'f', 0, 64) + " ns"
	}
	for _, u := range []struct {
		name string
		ns   float64
	}{{"µs", 1e3}, {"ms", 1e6}} {
		if s, ok := digits3(ns / u.ns); ok {
			return s + " " + u.name
		}
	}
	if s, ok := digits3(ns / 1e9); ok {
		return s + " s"
	}
	return strconv.FormatFloat(ns/1e9, 'f', 0, 64) + " s"
}

// digits3 formats a number with three significant digits. ok is false if the number rounds to 1000
// or more.
func digits3(x float64) (s string, ok bool) {
	switch {
	case x >= 999.5:
		return "", false
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64), true
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64), true
	}
	return strconv.FormatFloat(x, 'f', 2, 64), true
}

// Share formats a fraction as a percentage with two significant digits: 57 %, 0.015 %. A fraction
// below 1 is never formatted as 100 %.
func Share(share float64) string {
	p := 100 * share
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(p, 'g', 2, 64), 64)
	if err != nil { // cannot happen, because FormatFloat produced the text
		rounded = p
	}
	if rounded >= 100 && p < 100 {
		rounded = math.Min(math.Floor(10*p)/10, 99.9)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64) + " %"
}

// Percentile formats a percentile p, 0 <= p < 100, for example 97.11 or 99.9995. It rounds p up so
// that the distance to 100 has three significant digits, but never to 100. Because it rounds up,
// every number above the formatted value is also above p.
func Percentile(p float64) string {
	rest := 100 - p
	if rest >= 100 {
		return "0"
	}
	decimals := 2 - int(math.Floor(math.Log10(rest)))
	unit := math.Pow10(-decimals)
	rest = math.Floor(rest/unit+1e-6) * unit // + 1e-6, because 100 - 99.9 is slightly less than 0.1
	text := strconv.FormatFloat(100-rest, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
