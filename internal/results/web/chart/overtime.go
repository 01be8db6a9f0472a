package chart

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Colors maps names of members to the numbers of their series. A member has the same series in all
// charts of a trial.
type Colors map[string]int

// class returns the class for the i-th line in a panel.
func (c Colors) class(name string, i int) string {
	if n, ok := c[name]; ok {
		return Series(n)
	}
	return Series(i)
}

// OverTime draws the chart of a panel.
func OverTime(o *overtime.Charts, p *overtime.Panel, colors Colors) Chart {
	c := canvas{title: p.Title, height: plotHeight}
	s := scaleOf(p)
	var legend []Entry
	c.vertical(&s)
	c.overTime(o, true, func(g *overtime.Grid) {
		for i := range p.Lines {
			if l := &p.Lines[i]; l.Repeats != nil { // bands are behind all lines
				c.path(colors.class(l.Name, i)+" range", c.band(g, &s, l.Repeats), "")
			}
		}
		for i := range p.Lines {
			l := &p.Lines[i]
			class := colors.class(l.Name, i)
			if p.MemberRanges {
				c.path(class+" l between", c.band(g, &s, l), "")
			} else {
				c.path(class+" l", c.line(g, &s, l), "")
			}
			legend = append(legend, Entry{l.Name, class})
		}
	})
	if p.Key != "" {
		c.about = p.Key
		legend = append(legend, Entry{p.Key, Key})
	}
	return finish(p.Name, c, legend, p.Notes...)
}

// overTime draws the inner picture and the time axis, and shades the warm-up. If marks is set, it
// draws a vertical line at each severe event.
func (c *canvas) overTime(o *overtime.Charts, marks bool, draw func(*overtime.Grid)) {
	g := &o.Grid
	from, to := float64(g.From), float64(g.EndSecond())
	c.plot(from, to, func() {
		if from < 0 {
			c.add(shape{kind: drawShade, class: "warmup", x: num(from), xEnd: num(-from)})
		}
		draw(g)
		var grave outline
		for i := range o.Marks {
			if marks && o.Marks[i].Severe {
				grave.move(num(o.Marks[i].From), num(0))
				grave.lineToY(num(float64(c.height)))
			}
		}
		if !grave.empty() {
			c.path("grave", &grave, "")
		}
	})
	if g.Writes {
		c.horizontal(writesTicks(from, to), from, to)
	} else {
		c.horizontal(timeTicks(from, to), from, to)
	}
}

// scaleOf returns the scale of the vertical axis for all lines in a panel.
func scaleOf(p *overtime.Panel) scale {
	least, most := math.Inf(1), 0.0
	for i := range p.Lines {
		for l := &p.Lines[i]; l != nil; l = l.Repeats {
			for j := range l.Low {
				if low := l.Low[j]; low > 0 {
					least = math.Min(least, low)
				}
				if high := l.High[j]; high > most {
					most = high
				}
			}
		}
	}
	if p.Log {
		if p.Unit == measure.Nanoseconds { // shorter times are not visible next to network times
			least = math.Max(least, math.Min(1e3, most))
		}
		return logarithmic(least, most, p.Unit)
	}
	return linear(most, p.Unit)
}

// line returns the path of a line. The path goes through the middle of each column. If the minimum
// and the maximum of a column differ, the path goes through both.
func (c *canvas) line(g *overtime.Grid, s *scale, l *overtime.Line) *outline {
	var o outline
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
			o.line(num(middle), low)
		case !known(i+1) && low.text == high.text: // a column without neighbors gets a line as wide as the column, so that it is visible
			o.move(num3(middle-0.4*width), low)
			o.lineAlong(num3(0.8 * width))
		default:
			o.move(num(middle), low)
		}
		if low.text != high.text {
			o.lineToY(high)
		}
	}
	return &o
}

// band returns the outline of the area between the minimum and the maximum of a line.
func (c *canvas) band(g *overtime.Grid, s *scale, l *overtime.Line) *outline {
	var o outline
	x := func(i int) coord { return num(float64(g.From) + (float64(i)+0.5)*float64(g.Width)) }
	for i := 0; i < len(l.Low); i++ {
		if math.IsNaN(l.Low[i]) {
			continue
		}
		first := i
		for i+1 < len(l.Low) && !math.IsNaN(l.Low[i+1]) {
			i++
		}
		if first == i { // a column without neighbors gets a band as wide as the column
			from, to := num3(float64(g.From)+(float64(i)+0.1)*float64(g.Width)), num3(0.8*float64(g.Width))
			low := c.y(s, l.Low[i])
			o.move(from, c.y(s, l.High[i]))
			o.lineAlong(to)
			o.lineToY(low)
			o.lineAlong(num3(-to.value))
			o.end()
			continue
		}
		o.move(x(first), c.y(s, l.High[first]))
		for k := first + 1; k <= i; k++ {
			o.line(x(k), c.y(s, l.High[k]))
		}
		for k := i; k >= first; k-- {
			o.line(x(k), c.y(s, l.Low[k]))
		}
		o.end()
	}
	return &o
}

// laneHeight is the height of the lane for one kind of event.
const laneHeight = 30

// Events draws the events of a trial, with a lane for each kind of event. The function kindName
// returns the name of a lane, and the function tooltip returns the tooltip of an event. Events
// returns false if there are no events.
func Events(o *overtime.Charts, colors Colors, kindName func(store.SignalKind) string, tooltip func(*overtime.Mark) string) (Chart, bool) {
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
	c := canvas{title: "Events", height: laneHeight * len(kinds)}
	c.overTime(o, false, func(*overtime.Grid) {
		for i := range o.Marks {
			m := &o.Marks[i]
			class := "none"
			if n, ok := colors[m.Member]; ok {
				class = Series(n)
			}
			var mark outline
			mark.move(num3(m.From), num(float64(laneHeight*slices.Index(kinds, m.Kind)+21)))
			mark.lineToX(num3(m.To))
			c.path(class+" mark", &mark, tooltip(m))
		}
	})
	c.group("lanes", func() {
		for i, kind := range kinds {
			c.add(shape{kind: drawRule, y: num(float64(laneHeight * (i + 1)))})
			c.add(shape{kind: drawLane, y: num(float64(laneHeight*i + 12)), text: kindName(kind)})
		}
	})
	slices.Sort(members)
	var legend []Entry
	for _, m := range members {
		if n, ok := colors[m]; ok {
			legend = append(legend, Entry{m, Series(n)})
		}
	}
	return finish("events", c, legend), true
}
