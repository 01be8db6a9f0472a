package chart

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Outages draws the outages that one kind of fault caused. Each trial has a column of dots, with a
// line at their median. Faults without an outage are at the bottom. The tooltip of a dot is the
// duration of the outage.
func Outages(name string, kind []*faults.KindEffects) Chart {
	least, most := math.Inf(1), 0.0
	for _, b := range kind {
		for _, x := range b.Outage().Lengths {
			if x > 0 {
				least, most = math.Min(least, x), math.Max(most, x)
			}
		}
	}
	if most == 0 {
		least, most = 0.002, 1 // ends of the axis in seconds, if no fault caused an outage
	}
	c := canvas{title: kind[0].Description + ": longest time without any success", height: plotHeight}
	s := logarithmic(least*1e9/2, most*1e9, measure.Nanoseconds) // leaves room at the bottom for faults without an outage
	place := func(seconds float64) coord { return c.y(&s, math.Min(seconds*1e9, s.maximum)) }
	c.vertical(&s)
	const width = 100
	var ticks []tick
	var legend []Entry
	c.plot(0, float64(width*len(kind)), func() {
		for i, b := range kind {
			class, all := Series(i), b.Outage().Lengths
			for k, x := range all {
				// Dots are side by side, so that readers can count dots with equal values.
				at := float64(width*i) + width*(0.25+0.5*(float64(k)+0.5)/float64(len(all)))
				says := "no outage"
				if x > 0 {
					says = text.MeasuredSeconds(x)
				}
				c.dot(class+" dot", num3(at), place(x), says)
			}
			var median outline
			median.move(num(float64(width*i)+width*0.15), place(b.Outage().Median.Value))
			median.lineAlong(num(width * 0.7))
			c.path(class+" l", &median, "")
			ticks = append(ticks, tick{(float64(i) + 0.5) / float64(len(kind)), b.Row.First().Store})
			legend = append(legend, Entry{fmt.Sprintf("%s, %s", b.Row.First().Name, text.Plural(uint64(b.Count), "time")), class})
		}
	})
	c.horizontal(ticks, 0, 1)
	return finish(name, c, legend, "Each dot is one fault. The line is the median. Faults without an outage are at the bottom.")
}
