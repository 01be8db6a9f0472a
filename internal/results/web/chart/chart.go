// Package chart draws findings: axes with units, lines over time, heat maps, percentiles.
// It computes nothing but places on paper. A chart is drawn once, on a canvas, and comes
// out as SVG and as PNG.
//
// A chart is as wide as what it stands in, and its text keeps its size: places
// along its width are percentages, and what is drawn over time lies in an inner
// picture whose unit is the second, so that changing its viewBox is zooming.
// Colours are classes of the page's style.
package chart

// Chart is a picture and what stands beside it.
type Chart struct {
	Name   string // in file names and links
	Title  string
	SVG    string // the picture, safe to be put into a page as it is
	Legend []Entry
	Notes  []string

	canvas canvas
}

// Entry is a series in the legend.
type Entry struct {
	Name  string
	Class string // its colour and dashes
}

// The sizes of charts, in pixels.
const (
	plotHeight  = 150
	axisHeight  = 24 // below, with the labels of its ticks
	tickLength  = 4
	tickLabel   = 17 // below the plot
	labelRight  = -6 // where the vertical axis's labels end
	fileWidth   = 960
	fileLeft    = 84 // for the labels of the vertical axis
	fileTop     = 44 // for the title and the legend's first row
	titleAt     = 18
	legendRow   = 17 // each further one
	sampleWidth = 18 // of a series in the legend
	sampleApart = 23 // its name from where it begins
)

// finish makes a chart of what was drawn.
func finish(name string, c canvas, legend []Entry, notes ...string) Chart {
	return Chart{Name: name, Title: c.title, SVG: c.svg(), Legend: legend, Notes: notes, canvas: c}
}
