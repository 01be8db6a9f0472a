package analyze

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// HeatMap counts operations by due time and duration. Unlike a percentile's line it shows modes
// and single outliers.
type HeatMap struct {
	Title string
	// First is the lowest row and Rows the number of rows, on a logarithmic scale: row r is from
	// Edge(r) to Edge(r+1), in nanoseconds.
	First, Rows int
	// Counts has Rows counts for each column of the grid; their sum is the number of successes.
	Counts [][]uint64
	Most   uint64 // the largest of Counts
}

// rowsPerDecade is the number of rows per power of ten: each is 21 % wide.
const rowsPerDecade = 12

// Edge returns the lower bound of a row, in nanoseconds.
func (m *HeatMap) Edge(row int) float64 {
	return math.Pow(10, float64(m.First+row)/rowsPerDecade)
}

// heatCounter counts times into a heat map.
type heatCounter struct {
	columns [][]uint64
	edges   []int // the first step of each row
	least   int
	most    int
}

// maxHeatRow is above every time in a histogram.
var maxHeatRow = heatRow(2 * measure.Highest)

// heatRow returns the row of a time in nanoseconds; times below 1 ns count as 1 ns.
func heatRow(ns int64) int {
	return int(math.Floor(rowsPerDecade * math.Log10(float64(max(ns, 1)))))
}

func newHeatCounter(g *Grid) *heatCounter {
	c := &heatCounter{columns: make([][]uint64, g.N), least: math.MaxInt, most: -1}
	for i := range c.columns {
		c.columns[i] = make([]uint64, maxHeatRow+1)
	}
	for at := range measure.NumSteps {
		for len(c.edges) <= min(heatRow(measure.StepAt(at)), maxHeatRow) {
			c.edges = append(c.edges, at)
		}
	}
	return c
}

// add counts times, which ascend like the rows.
func (c *heatCounter) add(column int, times *measure.Steps) {
	to, row := c.columns[column], 0
	count := func(row int, n int64) {
		to[row] += uint64(n)
		c.least, c.most = min(c.least, row), max(c.most, row)
	}
	for _, s := range times.All {
		for row+1 < len(c.edges) && s.At >= c.edges[row+1] {
			row++
		}
		count(row, s.N)
	}
}

// finish removes empty rows at both ends.
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
