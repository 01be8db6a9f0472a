package chart

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
)

// Spot is the position of a ladder step in the inner picture, measured from the left and from the
// top as shares from 0 to 1. The script uses it to find the step at the pointer.
type Spot struct {
	Step int
	X, Y float64
}

// plotWidth is the width of the inner picture in its own units.
const plotWidth = 1000

// stepPicture is a picture of ladder steps in which both axes show figures.
type stepPicture struct {
	canvas
	name                           string
	legend                         []Entry
	horizontalScale, verticalScale scale
}

// beginSteps starts a picture. Its title contains the names of the axes.
func beginSteps(name, title string, horizontalScale, verticalScale scale) *stepPicture {
	p := &stepPicture{canvas: canvas{title: title, height: plotHeight + 90}, name: name, horizontalScale: horizontalScale, verticalScale: verticalScale}
	p.vertical(&p.verticalScale)
	p.add(shape{kind: startPlot, x: num(0), xEnd: num(plotWidth)})
	return p
}

// x returns the horizontal position of a figure as a share from 0 to 1. It leaves a margin so that
// no mark is cut off.
func (p *stepPicture) x(v float64) float64 { return 0.02 + 0.96*p.horizontalScale.heightOf(v) }

func (p *stepPicture) coordinates(x, y float64) (coord, coord) {
	return num(plotWidth * p.x(x)), p.y(&p.verticalScale, y)
}

func (p *stepPicture) spot(step int, x, y float64) Spot {
	return Spot{step, p.x(x), 1 - p.verticalScale.heightOf(y)}
}

// mark draws dots at the heights ys. If pale is set, the dots are pale. If ring is set, each dot has
// a ring.
func (p *stepPicture) mark(class string, pale, ring bool, x float64, ys ...float64) {
	dot := class + " dot"
	if pale {
		dot += " out"
	}
	for _, y := range ys {
		px, py := p.coordinates(x, y)
		p.dot(dot, px, py, "")
		if ring {
			p.dot(class+" knee", px, py, "")
		}
	}
}

// end completes the picture.
func (p *stepPicture) end() Chart {
	p.add(shape{kind: endPlot})
	var ticks []tick
	for _, t := range p.horizontalScale.ticks {
		if t.label != "" {
			ticks = append(ticks, tick{p.x(t.value), t.label})
		}
	}
	p.horizontal(ticks, 0, 1)
	return finish(p.name, p.canvas, p.legend)
}

// Steps draws latency against throughput. For each ladder, it draws the p99 as a line and the p50
// as a thin line, with a ring on both at the knee. Steps that are not used are pale. It returns the
// spots of each ladder.
func Steps(name, title string, ladders []size.Ladder) (Chart, [][]Spot, bool) {
	least, most, right := math.Inf(1), 0.0, 0.0
	known := func(s *size.LadderStep) bool { return s.P50.Known && s.P50.Number > 0 && s.Throughput.Known }
	for i := range ladders {
		for k := range ladders[i].Steps {
			if s := &ladders[i].Steps[k]; known(s) {
				least, most, right = math.Min(least, s.P50.Number), math.Max(most, s.P50.Number), math.Max(right, s.Throughput.Number)
				if s.P99.Known {
					most = math.Max(most, s.P99.Number)
				}
			}
		}
	}
	if right == 0 {
		return Chart{}, nil, false
	}
	p := beginSteps(name, title, linear(right, measure.Rate), logarithmic(least, most, measure.Nanoseconds))
	spots := make([][]Spot, len(ladders))
	for i := range ladders {
		l, class := &ladders[i], Series(i)
		var median, tail outline
		for k := range l.Steps {
			s := &l.Steps[k]
			if !known(s) {
				continue
			}
			x, top := s.Throughput.Number, s.P50.Number
			median.next(p.coordinates(x, top))
			if s.P99.Known {
				top = s.P99.Number
				tail.next(p.coordinates(x, top))
			}
			spots[i] = append(spots[i], p.spot(k, x, top))
		}
		p.path(class+" l", &tail, "")
		p.path(class+" l thin", &median, "")
		for k := range l.Steps {
			s := &l.Steps[k]
			if !known(s) {
				continue
			}
			times := []float64{s.P50.Number}
			if s.P99.Number > 0 {
				times = append(times, s.P99.Number)
			}
			p.mark(class, s.ExclusionReason != "", k == l.Knee, s.Throughput.Number, times...)
		}
		p.legend = append(p.legend, Entry{l.Name, class})
	}
	return p.end(), spots, true
}

// Scaling draws throughput against concurrency. If the Universal Scalability Law fits a ladder, it
// also draws the law as a dashed curve.
func Scaling(name, title string, ladders []size.Ladder) (Chart, [][]Spot, bool) {
	least, most, top := math.Inf(1), 0.0, 0.0
	known := func(s *size.LadderStep) bool { return s.Concurrency > 0 && s.Throughput.Known }
	for i := range ladders {
		for k := range ladders[i].Steps {
			if s := &ladders[i].Steps[k]; known(s) {
				least, most, top = math.Min(least, s.Concurrency), math.Max(most, s.Concurrency), math.Max(top, s.Throughput.Number)
			}
		}
		for _, at := range ladders[i].Curve() {
			top = math.Max(top, at.Throughput)
		}
	}
	if top == 0 {
		return Chart{}, nil, false
	}
	p := beginSteps(name, title, logarithmic(least, most, measure.Number), linear(top, measure.Rate))
	spots := make([][]Spot, len(ladders))
	for i := range ladders {
		l, class := &ladders[i], Series(i)
		var curve outline
		for _, at := range l.Curve() {
			curve.next(p.coordinates(at.Concurrency, at.Throughput))
		}
		p.path(class+" l fitted", &curve, "")
		for k := range l.Steps {
			s := &l.Steps[k]
			if !known(s) {
				continue
			}
			p.mark(class, s.ExclusionReason != "", k == l.Knee, s.Concurrency, s.Throughput.Number)
			spots[i] = append(spots[i], p.spot(k, s.Concurrency, s.Throughput.Number))
		}
		p.legend = append(p.legend, Entry{l.Name, class})
	}
	return p.end(), spots, true
}
