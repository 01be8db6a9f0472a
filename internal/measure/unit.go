package measure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Unit is the unit of a figure.
type Unit uint8

// The values of Unit.
const (
	Nanoseconds Unit = iota
	Seconds          // a duration in seconds, displayed as a duration
	Length           // a duration in seconds, displayed as a plain number
	Number           // a number of things
	Ratio            // the quotient of two numbers
	Rate             // things per second
	Share            // a share; 1 means 100 %
	Bytes
)

// Time returns the length of the unit in nanoseconds, for example 1e9 for Seconds. The result `ok`
// is false if values with this unit are not displayed as durations.
func (u Unit) Time() (ns float64, ok bool) {
	switch u {
	case Nanoseconds:
		return 1, true
	case Seconds:
		return 1e9, true
	}
	return 0, false
}

// Text formats a number with this unit. The text has enough digits for a comparison with a limit.
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

// Text formats a figure as a time. It returns a dash if the sample is too small for the figure, or
// "failed" if Figure.Failed is set.
func (f Figure) Text() string {
	switch {
	case f.Known:
		return text.Duration(f.NS)
	case f.Failed:
		return "failed"
	}
	return text.Dash
}

// Quantity formats a number with this unit for display.
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

// PercentilesText formats the percentiles of a summary in one line.
func (s *Summary) PercentilesText() string {
	parts := make([]string, 0, len(s.Percentiles))
	for i, f := range s.Percentiles {
		parts = append(parts, fmt.Sprintf("p%g %s", Percentiles[i], f.Text()))
	}
	return strings.Join(parts, ", ")
}
