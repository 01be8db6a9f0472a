package chart

import (
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
)

// percentilePlace returns the position of a percentile on the axis. The position is 0 for 0 %, 1
// for 90 %, 2 for 99 % and so on: from each position to the next, the share of operations above the
// percentile falls to a tenth.
func percentilePlace(p float64) float64 { return -math.Log10(1 - p/100) }

// Percentiles draws distributions against percentiles, like the plots of HdrHistogram. From each
// division to the next, the number of slower operations falls to a tenth. The line is dashed where
// fewer than ten operations are slower.
func Percentiles(name, title string, curves []overtime.PercentileCurve) (Chart, bool) {
	least, most, right := math.Inf(1), 0.0, 1.0
	for i := range curves {
		for _, p := range curves[i].Points {
			least, most = math.Min(least, math.Max(p.Nanoseconds, 1)), math.Max(most, p.Nanoseconds)
			if curves[i].Repeats > 1 {
				least, most = math.Min(least, math.Max(p.Least, 1)), math.Max(most, p.Most)
			}
			right = math.Max(right, percentilePlace(p.Percentile))
		}
	}
	if most == 0 {
		return Chart{}, false
	}
	c := canvas{title: title, height: plotHeight + 50}
	s := logarithmic(least, most, measure.Nanoseconds)
	var legend []Entry
	c.vertical(&s)
	ranges := false
	c.plot(0, 100*right, func() {
		for i := range curves {
			if curves[i].Repeats > 1 && len(curves) <= overtime.MaxBands && len(curves[i].Points) > 1 {
				c.path(Series(i)+" range", c.percentileRange(&s, &curves[i]), "")
				ranges = true
			}
		}
		for i := range curves {
			class := Series(i)
			var sure, unsure outline
			var x0, y0 coord
			for _, p := range curves[i].Points {
				x, y := num(100*percentilePlace(p.Percentile)), c.y(&s, p.Nanoseconds)
				to := &sure
				if !p.Reliable {
					if to = &unsure; unsure.empty() && x0.text != "" {
						unsure.move(x0, y0)
					}
				}
				to.next(x, y)
				x0, y0 = x, y
			}
			c.path(class+" l", &sure, "")
			c.path(class+" l unsure", &unsure, "")
			legend = append(legend, Entry{curves[i].Name, class})
		}
	})
	c.horizontal(percentileTicks(right), 0, right)
	if ranges {
		c.about = "lines: median of the repeats at each percentile, bands: lowest to highest"
		legend = append(legend, Entry{c.about, Key})
	}
	return finish(name, c, legend), true
}

// percentileRange returns the outline of the area between the lowest and the highest repeat.
func (c *canvas) percentileRange(s *scale, curve *overtime.PercentileCurve) *outline {
	var o outline
	for _, p := range curve.Points {
		o.next(num(100*percentilePlace(p.Percentile)), c.y(s, p.Most))
	}
	for i := len(curve.Points) - 1; i >= 0; i-- {
		p := &curve.Points[i]
		o.line(num(100*percentilePlace(p.Percentile)), c.y(s, p.Least))
	}
	o.end()
	return &o
}

// percentileTicks returns a tick for each additional nine (90 %, 99 %, 99.9 % and so on). If there
// are many ticks, some have no label, so that the labels fit the screen of a phone.
func percentileTicks(right float64) []tick {
	ticks := []tick{{0, "0 %"}}
	apart := 1
	switch {
	case right >= 9:
		apart = 4
	case right >= 8:
		apart = 3
	case right > 5:
		apart = 2
	}
	for n := 1; float64(n) <= right; n++ {
		t := tick{value: float64(n)}
		switch {
		case n%apart != 0:
		case n == 1:
			t.label = "90 %"
		case n == 2:
			t.label = "99 %"
		default:
			t.label = "99." + strings.Repeat("9", n-2) + " %"
		}
		ticks = append(ticks, t)
	}
	return ticks
}
