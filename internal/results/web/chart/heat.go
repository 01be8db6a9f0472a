package chart

import (
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
)

// heatLevels is the number of shades in a heat map. The counts of successive shades grow
// exponentially, so that a single slow operation is visible next to thousands of others.
const heatLevels = 8

// heatLevel returns the shade of a count, starting with 1. It returns 0 if the count is 0.
func heatLevel(n, highest uint64) int {
	switch {
	case n == 0:
		return 0
	case highest <= 1:
		return heatLevels
	}
	return 1 + int(math.Round((heatLevels-1)*math.Log(float64(n))/math.Log(float64(highest))))
}

// Heat draws the heat map of a trial. It returns false if the trial has no operations.
func Heat(o *overtime.Charts) (Chart, bool) {
	m := &o.Heat
	if m.Rows == 0 {
		return Chart{}, false
	}
	row := math.Max(4, math.Min(10, math.Round(200/float64(m.Rows))))
	c := canvas{title: m.Title, height: int(row) * m.Rows}
	s := scale{log: true, minimum: m.Edge(0), maximum: m.Edge(m.Rows)}
	ticks := logarithmic(s.minimum, s.maximum, measure.Nanoseconds).ticks
	for _, t := range ticks {
		if t.value >= s.minimum && t.value <= s.maximum {
			s.ticks = append(s.ticks, t)
		}
	}
	c.vertical(&s)
	c.overTime(o, true, func(g *overtime.Grid) {
		for level := 1; level <= heatLevels; level++ {
			if o := cells(g, m, level, row); !o.empty() {
				c.path("h"+strconv.Itoa(level), o, "")
			}
		}
	})
	return finish("heat-map", c, nil), true
}

// cells returns a path with all cells of one shade. Cells that are adjacent in time are combined
// into a rectangle.
func cells(g *overtime.Grid, m *overtime.HeatMap, level int, height float64) *outline {
	var o outline
	for r := range m.Rows {
		y := height * float64(m.Rows-1-r)
		for i := 0; i < len(m.Counts); i++ {
			if heatLevel(m.Counts[i][r], m.HighestCount) != level {
				continue
			}
			first := i
			for i+1 < len(m.Counts) && heatLevel(m.Counts[i+1][r], m.HighestCount) == level {
				i++
			}
			o.rectangle(float64(g.From+first*g.Width), y, float64((i+1-first)*g.Width), height)
		}
	}
	return &o
}
