package chart

import (
	"math"
	"strconv"
	"strings"
)

// canvas collects the shapes of a picture. They can be written as SVG or as PNG.
type canvas struct {
	title  string
	about  string // description for screen readers; may be empty
	height int    // height of the plot
	shapes []shape
}

// shape is an element of the picture. Between startPlot and endPlot, horizontal coordinates are in
// the units of the plot. Elsewhere, they are fractions of the picture's width.
type shape struct {
	kind    shapeKind
	class   string
	x, xEnd coord
	y       coord
	text    string
	path    *outline
}

type shapeKind uint8

const (
	startGroup shapeKind = iota // starts a group with a class
	endGroup
	startPlot // starts the plot; the horizontal axis begins at x, and xEnd is the length of the axis
	endPlot
	drawPath  // a path; text is its tooltip
	drawShade // a shaded area that begins at x; xEnd is the width of the area
	drawRule  // a horizontal line at y
	drawLabel // a label left of the plot, at y
	drawLane  // words at the left edge of the plot, at y
	drawWords // words at y and at x, a fraction of the width; class "end" or "cell" aligns them
	drawTick  // a tick with words at x, a fraction of the width
)

// coord is a coordinate, as a number and as the text in SVG. The number is rounded like the text.
type coord struct {
	value float64
	text  string
}

// num returns a coordinate that is rounded to one decimal. Readers cannot see a smaller difference.
func num(v float64) coord {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		s = "0"
	}
	return coord{math.RoundToEven(10*v) / 10, s}
}

// num3 returns a coordinate with three decimals.
func num3(v float64) coord {
	v = math.Round(1e3*v) / 1e3
	return coord{v, strconv.FormatFloat(v, 'f', -1, 64)}
}

// share returns a coordinate that is a share of the picture's width.
func share(v float64) coord {
	return coord{math.RoundToEven(1e4*v) / 1e4, strconv.FormatFloat(100*v, 'f', 2, 64) + "%"}
}

// outline is a path of straight lines.
type outline struct {
	text   []byte // the path in SVG's syntax
	points []point
}

// point is the end of a line in an outline.
type point struct {
	x, y   float64
	starts bool // no line is drawn to this point
	closes bool // a line is drawn back to the start of this part of the outline
}

func (o *outline) empty() bool { return len(o.points) == 0 }

func (o *outline) last() point {
	if o.empty() {
		return point{}
	}
	return o.points[len(o.points)-1]
}

func (o *outline) addCommand(command byte, x, y float64, texts ...string) {
	o.text = append(o.text, command)
	for i, text := range texts {
		if i > 0 {
			o.text = append(o.text, ' ')
		}
		o.text = append(o.text, text...)
	}
	o.points = append(o.points, point{x: x, y: y, starts: command == 'M'})
}

func (o *outline) move(x, y coord)    { o.addCommand('M', x.value, y.value, x.text, y.text) }
func (o *outline) line(x, y coord)    { o.addCommand('L', x.value, y.value, x.text, y.text) }
func (o *outline) lineToX(x coord)    { o.addCommand('H', x.value, o.last().y, x.text) }
func (o *outline) lineToY(y coord)    { o.addCommand('V', o.last().x, y.value, y.text) }
func (o *outline) lineAlong(dx coord) { o.addCommand('h', o.last().x+dx.value, o.last().y, dx.text) }
func (o *outline) lineDown(dy coord)  { o.addCommand('v', o.last().x, o.last().y+dy.value, dy.text) }

// rectangle adds a rectangle. x and y are the position of its upper left corner.
func (o *outline) rectangle(x, y, width, height float64) {
	o.move(num(x), num(y))
	o.lineAlong(num(width))
	o.lineDown(num(height))
	o.lineAlong(num(-width))
	o.end()
}

func (o *outline) end() {
	o.text = append(o.text, 'z')
	o.points = append(o.points, point{closes: true})
}

// next starts the path at the given point if the path is empty. Otherwise, it draws a line to the
// point.
func (o *outline) next(x, y coord) {
	if o.empty() {
		o.move(x, y)
	} else {
		o.line(x, y)
	}
}

func (c *canvas) add(s shape) { c.shapes = append(c.shapes, s) }

// path draws an outline. The parameter `words` is the tooltip of the outline.
func (c *canvas) path(class string, o *outline, words string) {
	c.add(shape{kind: drawPath, class: class, path: o, text: words})
}

// group draws shapes in a group with a class.
func (c *canvas) group(class string, draw func()) {
	c.add(shape{kind: startGroup, class: class})
	draw()
	c.add(shape{kind: endGroup})
}

// plot draws the inner picture. start and end are the ends of its horizontal axis.
func (c *canvas) plot(start, end float64, draw func()) {
	c.add(shape{kind: startPlot, x: num(start), xEnd: num(end - start)})
	draw()
	c.add(shape{kind: endPlot})
}

// vertical draws the vertical axis: horizontal lines and their labels.
func (c *canvas) vertical(s *scale) {
	c.group("y", func() {
		for _, t := range s.ticks {
			y := c.y(s, t.value)
			c.add(shape{kind: drawRule, y: y})
			if t.label != "" {
				c.add(shape{kind: drawLabel, y: y, text: t.label})
			}
		}
	})
}

// y returns the vertical position of a value, measured from the top.
func (c *canvas) y(s *scale, v float64) coord { return num(float64(c.height) * (1 - s.heightOf(v))) }

// horizontal draws the ticks of the horizontal axis.
func (c *canvas) horizontal(ticks []tick, from, to float64) {
	c.group("x", func() {
		for _, t := range ticks {
			at := (t.value - from) / (to - from)
			class := ""
			if at > 0.97 { // keeps the label inside the picture
				class = "e"
			}
			c.add(shape{kind: drawTick, class: class, x: share(at), text: t.label})
		}
	})
}

// dot draws a mark whose shape does not depend on the width of the picture. The parameter `words`
// is the tooltip of the mark.
func (c *canvas) dot(class string, x, y coord, words string) {
	var o outline
	o.move(x, y)
	o.lineAlong(num(0))
	c.path(class, &o, words)
}
