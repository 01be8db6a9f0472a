package chart

import (
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history/changepoint"
)

// maxTooltips is the maximum number of points that have a tooltip.
const maxTooltips = 500

// History draws a series over many runs: each point with its interval, the levels, and the changes
// with their numbers. The function `describe` returns the tooltip of a point.
func History(s *history.Series, title string, describe func(*history.Point) string) Chart {
	n := len(s.Points)
	c := canvas{title: title, height: plotHeight + 40, about: "Each dot is a run. Horizontal lines show the levels before and after each change."}
	scale := historyScale(s)
	x := func(i int) coord { return num(float64(i) + 0.5) }
	at := func(i int) float64 { return (float64(i) + 0.5) / float64(n) }
	c.vertical(&scale)
	c.plot(0, float64(n), func() {
		for k := range s.Changes {
			c.historyChange(&s.Changes[k])
		}
		c.historyPoints(s, &scale, x, describe)
		for _, l := range s.Levels() {
			var o outline
			y := c.y(&scale, l.Value)
			o.move(num(float64(l.From)), y)
			o.lineToX(num(float64(l.To)))
			c.path("level", &o, "")
		}
	})
	for k := range s.Changes {
		c.add(shape{kind: drawWords, class: "cell", x: share(at(s.Changes[k].Index)), y: num(-4), text: strconv.Itoa(k + 1)})
	}
	left := false
	for i := range s.Points {
		if s.Points[i].ExclusionReason != "" {
			left = true
			c.add(shape{kind: drawWords, class: "cell", x: share(at(i)), y: num(float64(c.height) - 4), text: "×"})
		}
	}
	c.group("x", func() {
		c.add(shape{kind: drawTick, class: "b", x: share(0), text: endLabel(&s.Points[0])})
		if n > 1 {
			c.add(shape{kind: drawTick, class: "e", x: share(1), text: endLabel(&s.Points[n-1])})
		}
	})
	note := "Dot: run, with its 95 % interval if known. Ring: suspect run."
	if left {
		note += " ×: run that does not count."
	}
	if len(s.Changes) > 0 {
		note += " Number: change, see the table. Shaded: the runs of a drift, or the range of runs in which a step happened."
	}
	return finish("history", c, nil, note)
}

// endLabel returns the label of the first or the last run on the axis: its date and build. Two
// labels fit the screen of a phone.
func endLabel(p *history.Point) string {
	const most = 24
	label := []rune(p.Title())
	if len(label) > most {
		label = append(label[:most-1], '…')
	}
	return string(label)
}

// historyChange draws a change: a line at its first run, and the runs among which it happened.
func (c *canvas) historyChange(change *history.Change) {
	from, to := change.First, change.Last
	if change.Kind == changepoint.Drift {
		from, to = change.Index, change.LastDriftIndex
	}
	if from < to {
		c.add(shape{kind: drawShade, class: "warmup", x: num(float64(from)), xEnd: num(float64(to - from + 1))})
	}
	var o outline
	o.move(num(float64(change.Index)), num(0))
	o.lineToY(num(float64(c.height)))
	c.path(WordClass(change.Word)+" change", &o, "")
}

// historyPoints draws the points that count, with their intervals.
func (c *canvas) historyPoints(s *history.Series, scale *scale, x func(int) coord, describe func(*history.Point) string) {
	var intervals, dots, holes outline
	single := len(s.Points) <= maxTooltips
	for i := range s.Points {
		p := &s.Points[i]
		if p.ExclusionReason != "" {
			continue
		}
		if p.Interval {
			intervals.move(x(i), c.y(scale, math.Max(p.Low, scale.minimum)))
			intervals.lineToY(c.y(scale, math.Min(p.High, scale.maximum)))
		}
		y := c.y(scale, math.Min(math.Max(p.Value, scale.minimum), scale.maximum))
		if p.Suspect() {
			holes.move(x(i), y)
			holes.lineAlong(num(0))
		}
		if single {
			c.dot("s0 dot", x(i), y, describe(p))
			continue
		}
		dots.move(x(i), y)
		dots.lineAlong(num(0))
	}
	c.path("s0 l thin", &intervals, "")
	c.path("s0 dot", &dots, "")
	c.path("hole", &holes, "")
}

// withIntervals widens a range so that it contains the intervals of the points. It widens it by at
// most half of its length on each side, so that a single long interval does not hide the changes.
func withIntervals(s *history.Series, low, high float64) (wideLow, wideHigh float64) {
	wideLow, wideHigh = low, high
	for i := range s.Points {
		if p := &s.Points[i]; p.ExclusionReason == "" && p.Interval {
			wideLow, wideHigh = math.Min(wideLow, p.Low), math.Max(wideHigh, p.High)
		}
	}
	most := (high - low) / 2
	return math.Max(wideLow, low-most), math.Min(wideHigh, high+most)
}

// historyScale returns a linear scale that contains the points that count. It does not begin at 0,
// so that small changes are visible.
func historyScale(s *history.Series) scale {
	low, high := s.Bounds()
	if !(high > low) || high > maxScaleValue {
		low, high = low*0.95, math.Max(low*1.05, 1e-9)
	}
	low, high = withIntervals(s, low, high)
	unit := s.Metric.Unit
	if s.Metric.ForeignUnit != "" {
		unit = measure.Rate
	}
	step := niceStep((high-low)/4, unit)
	out := scale{minimum: step * math.Floor(low/step), maximum: step * math.Ceil(high/step)}
	out.addTicks(step, func(v float64) string {
		if s.Metric.ForeignUnit == "" {
			return Label(v, unit)
		}
		return s.Metric.Text(v)
	})
	return out
}
