package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
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
		if !f.Known() {
			continue
		}
		low, says := c.y(&s, f.LowerPerSecond), "at least "+text.PerSecond(f.LowerPerSecond)
		if f.UpperPerSecond != nil {
			says = text.Between(text.PerSecond(f.LowerPerSecond), text.PerSecond(*f.UpperPerSecond))
			c.f(`<path class="%s mark" d="M%s %sV%s"><title>%s</title></path>`, class, x, low, c.y(&s, *f.UpperPerSecond), svgText(says))
			continue
		}
		c.f(`<path class="%s dot" d="M%s %sh0"><title>%s</title></path><path class="%s l unsure" d="M%s %sV0"/>`, class, x, low, svgText(says), class, x, low)
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

// CapacityCurve draws response time against the parameter whose largest value was
// searched: the p99, and thin below it the p50, of each trial, over the interval that the
// search came to. Trials that did not keep the objective are pale. False where no trial has
// a time.
func CapacityCurve(name string, f *analyze.CapacityFinding) (Chart, bool) {
	least, most, right := math.Inf(1), 0.0, 0.0
	times := func(p *analyze.CapacityPoint) (median, tail measure.Figure) {
		return p.Trial.ResponseTime.At(50), p.Trial.ResponseTime.At(99)
	}
	known := func(f measure.Figure) bool { return f.Known && !f.Failed && f.NS > 0 }
	for i := range f.Curve {
		median, tail := times(&f.Curve[i])
		for _, y := range []measure.Figure{median, tail} {
			if known(y) {
				least, most, right = math.Min(least, y.NS), math.Max(most, y.NS), math.Max(right, f.Curve[i].Value)
			}
		}
	}
	if right == 0 || f.Parameter == "" {
		return Chart{}, false
	}
	if f.Upper != nil {
		right = math.Max(right, *f.Upper)
	}
	p := beginSteps(name, fmt.Sprintf("Response time over %s, for %s", f.Parameter, f.Objective), linear(right, measure.Number), logarithmic(least, most, measure.Nanoseconds))
	class := Series(0)
	if f.Lower != nil {
		end := float64(plotWidth)
		if f.Upper != nil {
			end = plotWidth * p.x(*f.Upper)
		}
		p.f(`<path class="band" d="M%s 0V%dH%sV0"/>`, num(plotWidth*p.x(*f.Lower)), p.height, num(end))
	}
	var lower, upper strings.Builder
	for i := range f.Curve {
		at := &f.Curve[i]
		median, tail := times(at)
		mark := class + " dot"
		if !at.Holds {
			mark += " out"
		}
		for _, y := range []measure.Figure{median, tail} {
			if known(y) {
				p.dot(mark, at.Value, y.NS)
			}
		}
		if known(median) {
			begun(&lower, p.at(at.Value, median.NS))
		}
		if known(tail) {
			begun(&upper, p.at(at.Value, tail.NS))
		}
	}
	p.f(`<path class="%s l" d="%s"/><path class="%s l thin" d="%s"/>`, class, upper.String(), class, lower.String())
	p.out.Legend = []Entry{{"p99", class}, {"p50", class + " thin"}}
	out := p.end()
	out.Notes = []string{"Pale dots are trials that did not keep the objective. The shaded part is the interval in which the largest value is that does."}
	return out, true
}
