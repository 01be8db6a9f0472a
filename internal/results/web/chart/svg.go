// Package chart draws findings as SVG: axes with units, lines over time, heat
// maps, percentiles. It computes nothing but places on paper.
//
// A chart is as wide as what it stands in, and its text keeps its size: places
// along its width are percentages, and what is drawn over time lies in an inner
// picture whose unit is the second, so that changing its viewBox is zooming.
// Colours are classes of the page's style.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Chart is a picture and what stands beside it.
type Chart struct {
	Name   string // in file names and links
	Title  string
	SVG    string // the picture, safe to be put into a page as it is
	Legend []Entry
	Notes  []string
	height int
}

// Entry is a series in the legend.
type Entry struct {
	Name  string
	Class string // its colour and dashes
}

// The sizes of charts, in pixels.
const (
	plotHeight = 150
	axisHeight = 24 // below, with the labels of its ticks
	fileWidth  = 960
	fileLeft   = 84 // for the labels of the vertical axis
	fileTop    = 44 // for the title and the legend's first row
	legendRow  = 17 // each further one
)

// Series is the class of the n-th series, of which there are eight.
func Series(n int) string { return "s" + strconv.Itoa(n%8) }

// canvas is a picture being drawn.
type canvas struct {
	b      strings.Builder
	height int // of the plot
}

func (c *canvas) f(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// num is a coordinate with as many digits as can be seen.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// share is a place along the width.
func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) + "%" }

// svgText is foreign text made part of a picture.
func svgText(s string) string { return html.EscapeString(s) }

// begin opens the picture, whose title is for who cannot see it.
func (c *canvas) begin(title string, below int) {
	c.f(`<svg class="chart" xmlns="http://www.w3.org/2000/svg" width="100%%" height="%d" role="img" overflow="visible"><title>%s</title>`, c.height+below, svgText(title))
}

// vertical draws the lines and labels of the vertical axis.
func (c *canvas) vertical(s *scale) {
	c.f(`<g class="y">`)
	for _, t := range s.ticks {
		y := c.y(s, t.at)
		c.f(`<line x2="100%%" y1="%s" y2="%s"/>`, y, y)
		if t.label != "" {
			c.f(`<text x="-6" y="%s" dy=".32em">%s</text>`, y, svgText(t.label))
		}
	}
	c.f(`</g>`)
}

// y is a value's place from the top.
func (c *canvas) y(s *scale, v float64) string {
	return num(float64(c.height) * (1 - s.place(v)))
}

// plot opens the inner picture, from one value of the horizontal axis to
// another.
func (c *canvas) plot(from, to float64) {
	c.f(`<svg class="plot" width="100%%" height="%d" viewBox="%s 0 %s %d" preserveAspectRatio="none">`, c.height, num(from), num(to-from), c.height)
}

func (c *canvas) endPlot() { c.f(`</svg>`) }

// horizontal draws the ticks below.
func (c *canvas) horizontal(ticks []tick, from, to float64) {
	c.f(`<g class="x">`)
	for _, t := range ticks {
		at := (t.at - from) / (to - from)
		anchor := ""
		if at > 0.97 { // at the edge the label stays within the picture
			anchor = ` class="e"`
		}
		c.f(`<line x1="%s" x2="%s" y1="%d" y2="%d"/><text x="%s" y="%d"%s>%s</text>`, share(at), share(at), c.height, c.height+4, share(at), c.height+17, anchor, svgText(t.label))
	}
	c.f(`</g>`)
}

// end closes the picture.
func (c *canvas) end() string {
	c.f(`</svg>`)
	return c.b.String()
}

// File is the chart as a file of its own, with title and legend; style is the
// page's for charts. of says what it is a chart of.
func (c *Chart) File(of, style string) string {
	var b strings.Builder
	width, legend := fileWidth+fileLeft+24, c.legend()
	top := fileTop + legendRow*(legend.rows-1)
	height := c.height + top + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"><style>%s</style><rect class="paper" width="100%%" height="100%%"/>`,
		width, height, width, height, style)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="18">%s</text>`, fileLeft, svgText(of+": "+c.Title))
	b.WriteString(legend.svg)
	inner := strings.Replace(c.SVG, `width="100%"`, fmt.Sprintf(`x="%d" y="%d" width="%d"`, fileLeft, top, fileWidth), 1)
	b.WriteString(inner)
	b.WriteString("</svg>\n")
	return b.String()
}

// legend is the chart's in a file, in as many rows as it takes.
func (c *Chart) legend() (drawn struct {
	svg  string
	rows int
}) {
	const sample, between, letter = 23, 17, 6.5 // a letter's width is a guess, which is as wide as most are
	var b strings.Builder
	x, y := float64(fileLeft), 31
	drawn.rows = 1
	for i, e := range c.Legend {
		wide := sample + between + letter*math.Max(float64(len([]rune(e.Name))), 1)
		if i > 0 && x+wide > fileLeft+fileWidth {
			x, y = fileLeft, y+legendRow
			drawn.rows++
		}
		fmt.Fprintf(&b, `<path class="%s l" d="M%s %dh18"/><text class="legend" x="%s" y="%d">%s</text>`, e.Class, num(x), y, num(x+sample), y+4, svgText(e.Name))
		x += wide
	}
	drawn.svg = b.String()
	return drawn
}

// num3 is a coordinate to three decimals.
func num3(v float64) string {
	return strconv.FormatFloat(math.Round(1e3*v)/1e3, 'f', -1, 64)
}
