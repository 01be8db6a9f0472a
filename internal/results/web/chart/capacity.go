package chart

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxCapacities is the maximum number of values that fit side by side.
const maxCapacities = 24

// Capacities draws the capacity for each value of a parameter, in the order of the searches. A
// thick line goes from the lower end of the interval to its upper end. If there is no upper end, a
// dashed line goes to the top. The tooltip of the line shows the numbers.
func Capacities(name string, all *size.CapacityFindings) (Chart, bool) {
	of := all.All[:min(len(all.All), maxCapacities)]
	most := 0.0
	for _, f := range of {
		if most = math.Max(most, f.LowerPerSecond); f.UpperPerSecond != nil {
			most = math.Max(most, *f.UpperPerSecond)
		}
	}
	if most == 0 || all.Parameter == "" {
		return Chart{}, false
	}
	c := canvas{title: fmt.Sprintf("Capacity by %s, for %s", all.Parameter, of[0].Objective), height: plotHeight + 90}
	s := linear(most, measure.Rate)
	c.vertical(&s)
	const width = 100
	var ticks []tick
	c.plot(0, float64(width*len(of)), func() {
		for i, f := range of {
			ticks = append(ticks, tick{(float64(i) + 0.5) / float64(len(of)), f.Value})
			if f.Known() {
				c.interval(&s, num(float64(width*i)+width/2), f)
			}
		}
	})
	c.horizontal(ticks, 0, 1)
	notes := []string{"Thick line: interval of the capacity. Dot with dashed line: only the lower end is known. Values are in the order of the searches and evenly spaced."}
	if more := len(all.All) - len(of); more > 0 {
		notes = append(notes, fmt.Sprintf("%d more values are in the table.", more))
	}
	return finish(name, c, nil, notes...), true
}

// interval draws the interval of a capacity. If only the lower end is known, it draws a dot and a
// dashed line.
func (c *canvas) interval(s *scale, x coord, f *size.CapacityFinding) {
	class := Series(0)
	low, says := c.y(s, f.LowerPerSecond), "at least "+text.PerSecond(f.LowerPerSecond)
	var line, open outline
	line.move(x, low)
	if f.UpperPerSecond != nil {
		says = text.JoinRange(text.PerSecond(f.LowerPerSecond), text.PerSecond(*f.UpperPerSecond))
		line.lineToY(c.y(s, *f.UpperPerSecond))
		c.path(class+" mark", &line, says)
		return
	}
	line.lineAlong(num(0))
	c.path(class+" dot", &line, says)
	open.move(x, low)
	open.lineToY(num(0))
	c.path(class+" l unsure", &open, "")
}

// CapacityCurve draws response time against the parameter that the search varied. It draws the p99
// of each trial, the p50 as a thin line, and the interval that the search found. Trials that missed
// the objective and void trials are pale. It returns false if no trial has a response time.
func CapacityCurve(name string, f *size.CapacityFinding) (Chart, bool) {
	least, most, right := math.Inf(1), 0.0, 0.0
	times := func(p *size.CapacityPoint) (median, tail measure.Figure) {
		return p.Trial.ResponseTime.Percentile(50), p.Trial.ResponseTime.Percentile(99)
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
	p.shadeInterval(f)
	var lower, upper outline
	for i := range f.Curve {
		at := &f.Curve[i]
		median, tail := times(at)
		if known(median) {
			p.mark(class, !at.Holds, false, at.Value, median.NS)
			lower.next(p.coordinates(at.Value, median.NS))
		}
		if known(tail) {
			p.mark(class, !at.Holds, false, at.Value, tail.NS)
			upper.next(p.coordinates(at.Value, tail.NS))
		}
	}
	p.path(class+" l", &upper, "")
	p.path(class+" l thin", &lower, "")
	p.legend = []Entry{{"p99", class}, {"p50", class + " thin"}}
	out := p.end()
	out.Notes = []string{"Pale dots: trials that missed the objective, and void trials. Shaded: the largest value that meets the objective is in this interval."}
	return out, true
}

// shadeInterval shades the interval that a search found.
func (p *stepPicture) shadeInterval(f *size.CapacityFinding) {
	if f.Lower == nil {
		return
	}
	end := float64(plotWidth)
	if f.Upper != nil {
		end = plotWidth * p.x(*f.Upper)
	}
	var band outline
	band.move(num(plotWidth*p.x(*f.Lower)), num(0))
	band.lineToY(num(float64(p.height)))
	band.lineToX(num(end))
	band.lineToY(num(0))
	p.path("band", &band, "")
}
