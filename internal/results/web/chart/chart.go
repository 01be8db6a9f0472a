// Package chart draws findings as charts: lines over time, heat maps, percentiles and others. It
// computes only coordinates. A chart is drawn once on a canvas, which can be written as SVG and as
// PNG.
//
// In SVG, a chart is as wide as the element that contains it, and its text has a fixed size:
// horizontal coordinates are percentages. Charts over time have an inner picture with a time axis
// in seconds. A change of the picture's viewBox zooms the chart. Colors are classes in the style
// sheet of the page.
package chart

// Chart is a picture with its legend and notes.
type Chart struct {
	Name   string // used in file names and links
	Title  string
	SVG    string // safe to include in a page
	Legend []Entry
	Notes  []string
	// Columns is the number of columns of a matrix.
	Columns int

	canvas canvas
}

// Entry is a series in the legend, or an explanation if its class is Key.
type Entry struct {
	Name  string
	Class string // determines its color and dashes
}

// Key is the class of an entry that explains the bands of all series.
const Key = "key"

// IsKey reports whether the entry explains the bands.
func (e Entry) IsKey() bool { return e.Class == Key }

// Sizes in charts, in pixels.
const (
	plotHeight  = 150
	axisHeight  = 24 // axis below the plot, with labels
	tickLength  = 4
	tickLabel   = 17 // vertical distance of a tick's label below the plot
	labelEdge   = -6 // right end of the vertical axis's labels
	fileWidth   = 960
	fileLeft    = 84 // room for the labels of the vertical axis
	fileTop     = 44 // room for the title and the first row of the legend
	titleTop    = 18
	legendRow   = 17 // height of each further row
	sampleWidth = 18 // width of the sample of a series in the legend
	keyHeight   = 10 // height of the sample of a band
	sampleGap   = 23 // distance from the start of a sample to the name of its series
)

// finish returns a chart with the shapes on a canvas.
func finish(name string, c canvas, legend []Entry, notes ...string) Chart {
	return Chart{Name: name, Title: c.title, SVG: c.svg(), Legend: legend, Notes: notes, canvas: c}
}
