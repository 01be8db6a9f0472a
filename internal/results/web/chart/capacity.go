package chart

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
)

// mostCapacities is how many values have room side by side.
const mostCapacities = 24

// Capacities draws the capacity for each value of a parameter, in their order: a thick
// line from the lower end of the interval to the upper, dashed up to the top where there
// is none. Pointing at one says it in numbers.
func Capacities(name string, all *analyze.CapacityFindings) (Chart, bool) {
	of := all.All[:min(len(all.All), mostCapacities)]
	most := 0.0
	for _, f := range of {
		if most = math.Max(most, f.LowerPerSecond); f.UpperPerSecond != nil {
			most = math.Max(most, *f.UpperPerSecond)
		}
	}
	if most == 0 || all.Parameter == "" {
		return Chart{}, false
	}
	c := canvas{height: plotHeight + 90}
	out := Chart{Name: name, Title: fmt.Sprintf("Capacity over %s, for %s", all.Parameter, of[0].Objective), height: c.height + axisHeight}
	s := linear(most, measure.Rate)
	c.begin(out.Title, axisHeight)
	c.vertical(&s)
	const width = 100
	c.plot(0, float64(width*len(of)))
	var ticks []tick
	class := Series(0)
	for i, f := range of {
		x := num(float64(width*i) + width/2)
		ticks = append(ticks, tick{(float64(i) + 0.5) / float64(len(of)), f.Value})
		if len(f.Curve) == 0 {
			continue
		}
		low, says := c.y(&s, f.LowerPerSecond), "at least "+readable.PerSecond(f.LowerPerSecond)
		if f.UpperPerSecond != nil {
			says = readable.Between(readable.PerSecond(f.LowerPerSecond), readable.PerSecond(*f.UpperPerSecond))
			c.f(`<path class="%s mark" d="M%s %sV%s"><title>%s</title></path>`, class, x, low, c.y(&s, *f.UpperPerSecond), text(says))
			continue
		}
		c.f(`<path class="%s dot" d="M%s %sh0"><title>%s</title></path><path class="%s l unsure" d="M%s %sV0"/>`, class, x, low, text(says), class, x, low)
	}
	c.endPlot()
	c.horizontal(ticks, 0, 1)
	out.SVG = c.end()
	out.Notes = []string{"A thick line is the interval in which the capacity is; a dot with a dashed line is a lower end without an upper one. The values stand in the order in which they were searched, evenly apart."}
	if more := len(all.All) - len(of); more > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d more are in the table.", more))
	}
	return out, true
}
