package measure

import "strconv"

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
		return Duration(ns * x)
	}
	switch u {
	case Rate:
		return strconv.FormatFloat(x, 'f', 1, 64) + "/s"
	case Share:
		return Percent(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
