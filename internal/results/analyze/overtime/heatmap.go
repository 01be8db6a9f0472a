package overtime

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// HeatMap shows the distribution of the operations' times for each due time. Unlike a percentile
// line, a heat map also shows that a distribution has several peaks or single outliers.
type HeatMap struct {
	Title string
	// The rows have a logarithmic scale. Row r, counted from 0, contains the times from Edge(r) to
	// Edge(r+1) in nanoseconds. Rows is the number of rows. FirstRow is the position of row 0 on
	// the scale.
	FirstRow, Rows int
	// Counts has one slice for each column of the grid, with a count for each row. The sum of all
	// counts is the number of successes.
	Counts       [][]uint64
	HighestCount uint64 // the largest value in Counts
}

// rowsPerDecade is the number of rows per power of ten. With 12 rows, the upper edge of a row is 21
// % above its lower edge.
const rowsPerDecade = 12

// Edge returns the lower edge of a row in nanoseconds.
func (m *HeatMap) Edge(row int) float64 {
	return math.Pow(10, float64(m.FirstRow+row)/rowsPerDecade)
}

// heatCounter counts times for a heat map.
type heatCounter struct {
	columns    [][]uint64
	edges      []int // the first histogram step of each row
	lowestRow  int
	highestRow int
}

// maxHeatRow is a row above all times that a histogram can contain.
var maxHeatRow = heatRow(2 * measure.Highest)

// heatRow returns the row for a time in nanoseconds. Times below 1 ns are treated as 1 ns.
func heatRow(ns int64) int {
	return int(math.Floor(rowsPerDecade * math.Log10(float64(max(ns, 1)))))
}

func newHeatCounter(g *Grid) *heatCounter {
	c := &heatCounter{columns: make([][]uint64, g.Columns), lowestRow: math.MaxInt, highestRow: -1}
	for i := range c.columns {
		c.columns[i] = make([]uint64, maxHeatRow+1)
	}
	for at := range measure.NumSteps {
		for len(c.edges) <= min(heatRow(measure.StepStart(at)), maxHeatRow) {
			c.edges = append(c.edges, at)
		}
	}
	return c
}

// add adds times to a column. The times and the rows are both sorted, so one pass finds all rows.
func (c *heatCounter) add(column int, times *measure.Steps) {
	to, row := c.columns[column], 0
	count := func(row int, n int64) {
		to[row] += uint64(n)
		c.lowestRow, c.highestRow = min(c.lowestRow, row), max(c.highestRow, row)
	}
	for _, s := range times.NonEmpty {
		for row+1 < len(c.edges) && s.Index >= c.edges[row+1] {
			row++
		}
		count(row, s.Count)
	}
}

// finish returns the heat map without the empty rows at both ends.
func (c *heatCounter) finish(title string) HeatMap {
	m := HeatMap{Title: title + " of each operation"}
	if c.highestRow < 0 {
		return m
	}
	m.FirstRow, m.Rows = c.lowestRow, c.highestRow-c.lowestRow+1
	for _, column := range c.columns {
		cells := column[c.lowestRow : c.highestRow+1]
		m.Counts = append(m.Counts, cells)
		for _, n := range cells {
			m.HighestCount = max(m.HighestCount, n)
		}
	}
	return m
}
