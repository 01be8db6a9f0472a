package analyze

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// HeatMap counts operations by when they were due and how long they took. It
// shows two modes, and single outliers, where a percentile's line shows neither.
type HeatMap struct {
	Title string
	// First is its lowest row and Rows how many there are, on a logarithmic scale:
	// row r is from Edge(r) to Edge(r+1), in nanoseconds.
	First, Rows int
	// Counts has a column for each of the grid's, each with Rows counts; the sum
	// of all is the number of successes.
	Counts [][]uint64
	Most   uint64 // the largest of Counts
}

// rowsPerDecade is how many rows a power of ten has: each is 21 % wide.
const rowsPerDecade = 12

// Edge is the lower bound of a row, in nanoseconds.
func (m *HeatMap) Edge(row int) float64 {
	return math.Pow(10, float64(m.First+row)/rowsPerDecade)
}

// heatCounter counts histograms into a heat map.
type heatCounter struct {
	columns [][]uint64
	placeOf map[int64][]heatPlace // of each count of histograms with a lowest value
	least   int
	most    int
}

// heatPlace is a count's row, and the time in the middle of what it counts.
type heatPlace struct {
	row    int
	middle float64
}

// maxHeatRow is above every time that a histogram holds.
var maxHeatRow = heatRow(2 * measure.Highest)

// heatRow is the row of a time in nanoseconds, from 1 ns on.
func heatRow(ns int64) int {
	return int(math.Floor(rowsPerDecade * math.Log10(float64(max(ns, 1)))))
}

func newHeatCounter(g *Grid) *heatCounter {
	c := &heatCounter{columns: make([][]uint64, g.N), placeOf: map[int64][]heatPlace{}, least: math.MaxInt, most: -1}
	for i := range c.columns {
		c.columns[i] = make([]uint64, maxHeatRow+1)
	}
	return c
}

// add counts a second's times and returns their mean, NaN without any. The counts
// are looked at where they lie, because the library's own walk computes every
// bound anew.
func (c *heatCounter) add(column int, h *measure.Histogram) (mean float64) {
	if h.TotalCount() == 0 {
		return math.NaN()
	}
	places, to, sum := c.placesOf(h), c.columns[column], 0.0
	for i, n := range h.Export().Counts {
		if n <= 0 || i >= len(places) {
			continue
		}
		row := places[i].row
		to[row] += uint64(n)
		sum += float64(n) * places[i].middle
		c.least, c.most = min(c.least, row), max(c.most, row)
	}
	return sum / float64(h.TotalCount())
}

// placesOf is the place of each of a histogram's counts.
func (c *heatCounter) placesOf(h *measure.Histogram) []heatPlace {
	key := h.LowestTrackableValue()
	if places := c.placeOf[key]; places != nil {
		return places
	}
	like := hdr.New(key, h.HighestTrackableValue(), int(h.SignificantFigures()))
	_ = like.RecordValue(h.HighestTrackableValue()) // so that the walk goes to its end; it is in range
	var places []heatPlace
	for _, bar := range like.Distribution() {
		places = append(places, heatPlace{min(heatRow(bar.From), maxHeatRow), float64(bar.From+bar.To) / 2})
	}
	c.placeOf[key] = places
	return places
}

// finish cuts away the rows in which there is nothing.
func (c *heatCounter) finish(title string) HeatMap {
	m := HeatMap{Title: title + " of each operation"}
	if c.most < 0 {
		return m
	}
	m.First, m.Rows = c.least, c.most-c.least+1
	for _, column := range c.columns {
		cells := column[c.least : c.most+1]
		m.Counts = append(m.Counts, cells)
		for _, n := range cells {
			m.Most = max(m.Most, n)
		}
	}
	return m
}
