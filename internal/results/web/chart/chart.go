// Package chart draws findings: axes with units, lines over time, heat maps, percentiles. It
// computes only coordinates. A chart is drawn once, on a canvas, and written as SVG and as PNG.
//
// A chart is as wide as its container, and its text keeps its size: horizontal coordinates are
// percentages. Charts over time have an inner picture whose unit is the second, so changing its
// viewBox zooms. Colours are classes of the page's style.
package chart

// Chart is a picture with its legend and notes.
type Chart struct {
	Name   string // in file names and links
	Title  string
	SVG    string // the picture, safe to include in a page
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
	legendRow   = 17 // for each further row
	sampleWidth = 18 // of a series in the legend
	sampleApart = 23 // from the start of a sample to its name
)

// finish returns a chart with the shapes of a canvas.
func finish(name string, c canvas, legend []Entry, notes ...string) Chart {
	return Chart{Name: name, Title: c.title, SVG: c.svg(), Legend: legend, Notes: notes, canvas: c}
}
