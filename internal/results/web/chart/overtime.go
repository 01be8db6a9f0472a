package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Colours are the numbers of the series of members, which have one in all charts
// of a trial.
type Colours map[string]int

// class is that of a panel's i-th line.
func (c Colours) class(name string, i int) string {
	if n, ok := c[name]; ok {
		return Series(n)
	}
	return Series(i)
}

// OverTime draws a panel.
func OverTime(o *analyze.OverTime, p *analyze.Panel, colours Colours) Chart {
	c := canvas{height: plotHeight}
	s := scaleOf(p)
	out := Chart{Name: p.Name, Title: p.Title, Notes: p.Notes, height: c.height + axisHeight}
	c.begin(p.Title, axisHeight)
	c.vertical(&s)
	c.overTime(o, true, func(g *analyze.Grid) {
		for i := range p.Lines {
			l := &p.Lines[i]
			class := colours.class(l.Name, i)
			if p.Bands {
				c.f(`<path class="%s l between" d="%s"/>`, class, c.band(g, &s, l))
			} else {
				c.f(`<path class="%s l" d="%s"/>`, class, c.line(g, &s, l))
			}
			out.Legend = append(out.Legend, Entry{l.Name, class})
		}
	})
	out.SVG = c.end()
	return out
}

// overTime draws the inner picture and the time axis, with the warm-up shaded
// and grave events drawn through.
func (c *canvas) overTime(o *analyze.OverTime, marks bool, draw func(*analyze.Grid)) {
	g := &o.Grid
	from, to := float64(g.From), float64(g.To())
	c.plot(from, to)
	if from < 0 {
		c.f(`<rect class="warmup" x="%s" width="%s" height="%d"/>`, num(from), num(-from), c.height)
	}
	draw(g)
	if marks {
		var d strings.Builder
		for i := range o.Marks {
			if o.Marks[i].Grave {
				d.WriteString("M" + num(o.Marks[i].From) + " 0V" + num(float64(c.height)))
			}
		}
		if d.Len() > 0 {
			c.f(`<path class="grave" d="%s"/>`, d.String())
		}
	}
	c.endPlot()
	if g.Writes {
		c.horizontal(writesTicks(from, to), from, to)
	} else {
		c.horizontal(timeTicks(from, to), from, to)
	}
}

// scaleOf is the vertical axis of all of a panel's lines.
func scaleOf(p *analyze.Panel) scale {
	least, most := math.Inf(1), 0.0
	for i := range p.Lines {
		for j := range p.Lines[i].Low {
			if low := p.Lines[i].Low[j]; low > 0 {
				least = math.Min(least, low)
			}
			if high := p.Lines[i].High[j]; high > most {
				most = high
			}
		}
	}
	if p.Log {
		if p.Unit == measure.Nanoseconds { // nothing shorter can be seen beside a network
			least = math.Max(least, math.Min(1e3, most))
		}
		return logarithmic(least, most, p.Unit)
	}
	return linear(most, p.Unit)
}

// line is a line's path: through the middle of each column, and where a column
// holds several values through the least and the most of them.
func (c *canvas) line(g *analyze.Grid, s *scale, l *analyze.Line) string {
	var b strings.Builder
	known := func(i int) bool { return i >= 0 && i < len(l.Low) && !math.IsNaN(l.Low[i]) }
	width := float64(g.Width)
	for i := range l.Low {
		if !known(i) {
			continue
		}
		middle := float64(g.From) + (float64(i)+0.5)*width
		low, high := c.y(s, l.Low[i]), c.y(s, l.High[i])
		switch {
		case known(i - 1):
			b.WriteString("L" + num(middle) + " " + low)
		case !known(i+1) && low == high: // alone, it is as wide as its column, to be seen
			b.WriteString("M" + num3(middle-0.4*width) + " " + low + "h" + num3(0.8*width))
		default:
			b.WriteString("M" + num(middle) + " " + low)
		}
		if low != high {
			b.WriteString("V" + high)
		}
	}
	return b.String()
}

// band is the outline of all between a line's least and its most.
func (c *canvas) band(g *analyze.Grid, s *scale, l *analyze.Line) string {
	var b strings.Builder
	x := func(i int) string { return num(float64(g.From) + (float64(i)+0.5)*float64(g.Width)) }
	for i := 0; i < len(l.Low); i++ {
		if math.IsNaN(l.Low[i]) {
			continue
		}
		first := i
		for i+1 < len(l.Low) && !math.IsNaN(l.Low[i+1]) {
			i++
		}
		command := "M"
		point := func(k int, value float64) {
			b.WriteString(command + x(k) + " " + c.y(s, value))
			command = "L"
		}
		for k := first; k <= i; k++ {
			point(k, l.High[k])
		}
		for k := i; k >= first; k-- {
			point(k, l.Low[k])
		}
		b.WriteString("z")
	}
	return b.String()
}

// laneHeight is that of a kind of events.
const laneHeight = 30

// Events draws a trial's events, a lane for each kind; what tells what an event
// is. There is no chart without any.
func Events(o *analyze.OverTime, colours Colours, name func(store.SignalKind) string, what func(*analyze.Mark) string) (Chart, bool) {
	var kinds []store.SignalKind
	var members []string
	for i := range o.Marks {
		if m := &o.Marks[i]; !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
		if m := o.Marks[i].Member; m != "" && !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	if len(kinds) == 0 {
		return Chart{}, false
	}
	c := canvas{height: laneHeight * len(kinds)}
	out := Chart{Name: "events", Title: "Events", height: c.height + axisHeight}
	c.begin(out.Title, axisHeight)
	c.overTime(o, false, func(*analyze.Grid) {
		for i := range o.Marks {
			m := &o.Marks[i]
			y := laneHeight*slices.Index(kinds, m.Kind) + 21
			class := "none"
			if n, ok := colours[m.Member]; ok {
				class = Series(n)
			}
			c.f(`<path class="%s mark" d="M%s %dH%s"><title>%s</title></path>`, class, num3(m.From), y, num3(m.To), svgText(what(m)))
		}
	})
	c.f(`<g class="lanes">`)
	for i, kind := range kinds {
		c.f(`<line x2="100%%" y1="%d" y2="%d"/><text x="2" y="%d">%s</text>`, laneHeight*(i+1), laneHeight*(i+1), laneHeight*i+12, svgText(name(kind)))
	}
	c.f(`</g>`)
	slices.Sort(members)
	for _, m := range members {
		if n, ok := colours[m]; ok {
			out.Legend = append(out.Legend, Entry{m, Series(n)})
		}
	}
	out.SVG = c.end()
	return out, true
}
