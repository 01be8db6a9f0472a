// Package readable writes numbers as people read them: three significant digits
// in the unit that suits them, commas at thousands, a dash for what is not known.
package readable

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Dash stands for what is not known or not supported by the sample.
const Dash = "-"

// Duration formats nanoseconds with three significant digits, in the unit that
// suits them: 873 ns, 52.1 µs, 1.20 ms, 10.0 s; a dash for what is no time.
func Duration(ns float64) string {
	if math.IsNaN(ns) || math.IsInf(ns, 0) || ns < 0 {
		return Dash
	}
	return measure.Duration(ns)
}

// Figure formats a figure of a summary: a time, a dash where the sample does
// not support it, or failed where it lands on a failed operation.
func Figure(f measure.Figure) string {
	switch {
	case f.Known:
		return Duration(f.NS)
	case f.Failed:
		return "failed"
	}
	return Dash
}

// PerSecond formats a throughput: 18,612/s, 87.3/s.
func PerSecond(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return Dash
	}
	if s, ok := measure.Digits3(x); ok && x < 99.95 && x != math.Trunc(x) {
		return s + "/s"
	}
	return Count(uint64(math.Round(x))) + "/s"
}

// Count formats a number with a comma at each thousand.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, digit := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// Bytes formats a size with three significant digits and binary units.
func Bytes(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		x /= 1024
		if x < 999.5 || unit == "TiB" {
			if s, ok := measure.Digits3(x); ok {
				return s + " " + unit
			}
			return fmt.Sprintf("%.0f %s", x, unit)
		}
	}
	return ""
}

// Seconds formats a length of time that a person chose: 10 s, 2.5 s, 250 ms.
func Seconds(s float64) string {
	if s > 0 && s < 1 {
		return strconv.FormatFloat(math.Round(s*1e4)/10, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(math.Round(s*100)/100, 'f', -1, 64) + " s"
}

// Plural is a count with its noun.
func Plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// OrDash is the text, or a dash if it is empty.
func OrDash(s string) string {
	if s == "" {
		return Dash
	}
	return s
}
