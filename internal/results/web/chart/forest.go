package chart

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/text"
)

// RatioAxis is the logarithmic axis of a forest plot.
type RatioAxis struct{ low, high float64 }

// NewRatioAxis returns an axis that shows all rows of a forest plot.
func NewRatioAxis(f *compare.Forest) RatioAxis {
	low, high := f.Bounds()
	const margin = 1.03
	return RatioAxis{low / margin, high * margin}
}

// Place returns the position of a ratio, from 0 at the left end to 1 at the right end. A ratio
// beyond an end of the axis has the position of that end.
func (a RatioAxis) Place(ratio float64) float64 {
	if !(ratio > 0) {
		return 0
	}
	return min(max(math.Log(ratio/a.low)/math.Log(a.high/a.low), 0), 1)
}

// RatioTick is a marked ratio on the axis.
type RatioTick struct {
	At    float64 // position from 0 to 1
	Label string
}

// Ticks returns the marked ratios.
func (a RatioAxis) Ticks() (all []RatioTick) {
	for _, r := range compare.Ticks(a.low, a.high) {
		all = append(all, RatioTick{a.Place(r), strconv.FormatFloat(r, 'f', -1, 64)})
	}
	return all
}

// WordClass returns the class for the color of a judgment.
func WordClass(w stats.Word) string {
	switch w {
	case stats.Worse:
		return "worse"
	case stats.Better:
		return "better"
	case stats.Same:
		return "same"
	}
	return "unclear"
}

// forestRow is the height of a row in a forest plot. The words of a row are above its interval.
const forestRow = 34

// Forest draws the ratios of one metric to the baseline, with their intervals. The function
// `describe` returns the change in words.
func Forest(f *compare.Forest, title string, describe func(*compare.ForestRow) string) Chart {
	a := NewRatioAxis(f)
	c := canvas{title: title, about: "Ratio to the baseline in each trial. " + ForestKey(f), height: forestRow * len(f.Rows)}
	x := func(ratio float64) coord { return num(plotWidth * a.Place(ratio)) }
	c.plot(0, plotWidth, func() {
		left, right := x(1/(1+f.Margin)), x(1+f.Margin)
		c.add(shape{kind: drawShade, class: "warmup", x: left, xEnd: num(right.value - left.value)})
		var one outline
		one.move(x(1), num(0))
		one.lineToY(num(float64(c.height)))
		c.path("unity", &one, "")
		for i := range f.Rows {
			r, y := &f.Rows[i], num(float64(forestRow*i+24))
			class := WordClass(r.Word)
			line := func(kind string, low, high float64) {
				var o outline
				o.move(x(low), y)
				o.lineToX(x(high))
				c.path(class+" "+kind, &o, "")
			}
			if r.Interval {
				line("l thin", r.CorrectedLow, r.CorrectedHigh)
				line("interval", r.Low, r.High)
			}
			c.dot(class+" dot", x(r.Ratio), y, "")
		}
	})
	c.group("lanes", func() {
		for i := range f.Rows {
			y := float64(forestRow*i + 12)
			c.add(shape{kind: drawLane, y: num(y), text: f.Rows[i].Name})
			c.add(shape{kind: drawWords, class: "end", x: share(1), y: num(y), text: describe(&f.Rows[i])})
			c.add(shape{kind: drawRule, y: num(float64(forestRow * (i + 1)))})
		}
	})
	ticks := a.Ticks()
	marks := make([]tick, 0, len(ticks))
	for _, t := range ticks {
		marks = append(marks, tick{t.At, t.Label})
	}
	c.horizontal(marks, 0, 1)
	return finish("ratios", c, nil, ForestKey(f))
}

// ForestKey explains the marks of a forest plot.
func ForestKey(f *compare.Forest) string {
	key := fmt.Sprintf("Dot: ratio. Thick line: its 95 %% interval. Thin line: the wider interval that decides between better, worse, same and unclear. Vertical line: no change. Shaded: changes within ± %s do not matter.", text.Share(f.Margin))
	for i := range f.Rows {
		if !f.Rows[i].Interval {
			return key + " A dot without a line has no interval."
		}
	}
	return key
}
