package chart

import (
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// tick is a value that is marked on an axis.
type tick struct {
	value float64
	label string // empty if the tick has no label
}

// scale maps values to heights above the bottom, from 0 to 1.
type scale struct {
	log              bool
	minimum, maximum float64
	ticks            []tick
}

// heightOf returns the height of a value. On a logarithmic scale, values below the scale, such as
// 0, are at the bottom.
func (s *scale) heightOf(v float64) float64 {
	if s.log {
		v, least, most := math.Log10(max(v, s.minimum)), math.Log10(s.minimum), math.Log10(s.maximum)
		return (v - least) / (most - least)
	}
	return (v - s.minimum) / (s.maximum - s.minimum)
}

// maxScaleValue is larger than every value in a run. With still larger values, the loop that
// computes the ticks of an axis would never end.
const maxScaleValue = 1e300

// linear returns a scale that begins at 0 and has about four ticks. The distance between ticks is
// 1, 2 or 5 times a power of ten or, for bytes, a power of two.
func linear(maximum float64, unit measure.Unit) scale {
	if !(maximum > 0) || maximum > maxScaleValue {
		maximum = 1
	}
	step := niceStep(maximum/4, unit)
	s := scale{maximum: step * math.Ceil(maximum/step*(1-1e-9))}
	s.addTicks(step, func(v float64) string { return Label(v, unit) })
	return s
}

// addTicks adds ticks from the minimum to the maximum, one step apart.
func (s *scale) addTicks(step float64, label func(float64) string) {
	// Because of rounding errors, the last tick may exceed the maximum by up to half a step. If the
	// values are large and close together, a tolerance relative to the maximum could be millions of
	// steps.
	for i := 0; s.minimum+float64(i)*step <= s.maximum+step/2; i++ {
		v := s.minimum + float64(i)*step
		s.ticks = append(s.ticks, tick{v, label(v)})
	}
}

// niceStep returns the smallest number that is at least x and is 1, 2 or 5 times a power of ten or,
// for bytes, a power of two.
func niceStep(x float64, unit measure.Unit) float64 {
	if unit == measure.Bytes {
		return math.Max(1, math.Pow(2, math.Ceil(math.Log2(x))))
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	step := 10 * power
	for _, m := range []float64{5, 2, 1} {
		if m*power >= x*(1-1e-9) {
			step = m * power
		}
	}
	if unit == measure.Number {
		return math.Max(step, 0.5)
	}
	return step
}

// logarithmic returns a scale whose ends are 1, 2 or 5 times a power of ten.
func logarithmic(minimum, maximum float64, unit measure.Unit) scale {
	if !(minimum > 0) || !(maximum >= minimum) || maximum > maxScaleValue {
		minimum, maximum = 1, 10
	}
	s := scale{log: true}
	decade := math.Floor(math.Log10(minimum))
	var all []tick
	for d := decade; d <= math.Ceil(math.Log10(maximum))+1; d++ {
		for _, m := range []float64{1, 2, 5} {
			all = append(all, tick{m * math.Pow(10, d), ""})
		}
	}
	for i := range all {
		if all[i].value <= minimum*(1+1e-9) {
			s.minimum = all[i].value
		}
		if s.maximum == 0 && all[i].value >= maximum*(1-1e-9) && all[i].value > s.minimum {
			s.maximum = all[i].value
		}
	}
	decades := math.Log10(s.maximum / s.minimum)
	for _, t := range all {
		if t.value < s.minimum*(1-1e-9) || t.value > s.maximum*(1+1e-9) {
			continue
		}
		whole := math.Abs(math.Log10(t.value)-math.Round(math.Log10(t.value))) < 1e-6
		if whole || decades < 2 {
			t.label = Label(t.value, unit)
		}
		if t.label != "" || decades < 4 {
			s.ticks = append(s.ticks, t)
		}
	}
	return s
}

// Label formats a value on an axis with its unit, for example 20,000/s, 100 ms or 64 MiB.
func Label(v float64, unit measure.Unit) string {
	switch {
	case unit == measure.Nanoseconds:
		return duration(v)
	case unit == measure.Number && v != math.Trunc(v):
		return strconv.FormatFloat(v, 'f', -1, 64)
	case v == 0:
		return "0"
	case unit == measure.Bytes && v < 1<<50:
		x, n := v, 0
		for x >= 1024 && n < 4 {
			x, n = x/1024, n+1
		}
		return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64) + []string{" B", " KiB", " MiB", " GiB", " TiB"}[n]
	}
	return unit.Quantity(v)
}

// duration formats a tick of a logarithmic axis, for example 1 ms or 200 µs.
func duration(ns float64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}} {
		if ns >= u.ns*(1-1e-9) {
			return strconv.FormatFloat(math.Round(1e3*ns/u.ns)/1e3, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(math.Round(ns), 'f', -1, 64) + " ns"
}

// timeSteps lists the possible distances between the ticks of a time axis, in seconds.
var timeSteps = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}

// maxTimeTicks is the maximum number of labels that fit the screen of a phone. The last label ends
// at the edge.
const maxTimeTicks = 5

// timeTicks returns the ticks for a time axis that begins and ends at the given times, in seconds.
func timeTicks(from, to float64) (ticks []tick) {
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (to-from)/s <= maxTimeTicks {
			step = s
			break
		}
	}
	for (to-from)/step > maxTimeTicks {
		step *= 2
	}
	for at := math.Ceil(from/step) * step; at <= to; at += step {
		ticks = append(ticks, tick{at, Seconds(at, step)})
	}
	return ticks
}

// writesTicks returns the ticks for an axis that counts writes.
func writesTicks(from, to float64) (ticks []tick) {
	step := math.Max(niceStep((to-from)/5, measure.Number), 1)
	for at := math.Ceil(from/step) * step; at <= to; at += step {
		ticks = append(ticks, tick{at, Label(at, measure.Number)})
	}
	return ticks
}

// Seconds formats a time on an axis. step is the distance between the axis's ticks.
func Seconds(at, step float64) string {
	unit, name := 1.0, " s"
	switch {
	case step >= 3600:
		unit, name = 3600, " h"
	case step >= 60:
		unit, name = 60, " min"
	}
	at = math.Round(100*at/unit) / 100
	if at == 0 {
		at = 0 // avoids -0
	}
	return strconv.FormatFloat(at, 'f', -1, 64) + name
}
