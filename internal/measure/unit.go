package measure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Unit is what a figure's number counts.
type Unit uint8

// The units.
const (
	Nanoseconds Unit = iota
	Seconds          // of a time, and shown as one
	Length           // seconds, shown as a number of them
	Number           // of things
	Ratio            // of one number to another
	Rate             // things a second
	Share            // of 1
	Bytes
)

// Time reports whether the unit is one of time, and how many nanoseconds it has.
func (u Unit) Time() (ns float64, ok bool) {
	switch u {
	case Nanoseconds:
		return 1, true
	case Seconds:
		return 1e9, true
	}
	return 0, false
}

// Text formats a number of the unit so that it can be held beside a limit.
func (u Unit) Text(x float64) string {
	if ns, ok := u.Time(); ok {
		return text.Duration(ns * x)
	}
	switch u {
	case Rate:
		return strconv.FormatFloat(x, 'f', 1, 64) + "/s"
	case Share:
		return text.Share(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Text formats a figure of a summary: a time, a dash where the sample does
// not support it, or failed where it lands on a failed operation.
func (f Figure) Text() string {
	switch {
	case f.Known:
		return text.Duration(f.NS)
	case f.Failed:
		return "failed"
	}
	return text.Dash
}

// Quantity formats a number of the unit.
func (u Unit) Quantity(x float64) string {
	if ns, ok := u.Time(); ok {
		return text.Duration(ns * x)
	}
	switch u {
	case Rate:
		return text.PerSecond(x)
	case Share:
		return text.Share(x)
	case Bytes:
		return text.Bytes(uint64(max(x, 0)))
	case Ratio:
		return fmt.Sprintf("%.4g", x)
	}
	return text.Count(uint64(max(x, 0)))
}

// PercentilesText formats the percentiles of a summary on one line.
func (s *Summary) PercentilesText() string {
	parts := make([]string, 0, len(s.Percentiles))
	for i, f := range s.Percentiles {
		parts = append(parts, fmt.Sprintf("p%g %s", Percentiles[i], f.Text()))
	}
	return strings.Join(parts, ", ")
}
