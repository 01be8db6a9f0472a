package chart

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// Sizes in matrices, in pixels.
const (
	matrixRow     = 40
	matrixText    = 12.0 // height of a line of text in a cell
	cellWidth     = 100  // width of a cell, in units of the inner picture
	maxLabelRunes = 9    // maximum number of characters in the label of a row
)

// MatrixCell is the content of a cell: one or two lines of text, and the class of its background.
type MatrixCell struct {
	Lines []string
	Class string // empty for a cell without a background
	Hatch bool
}

// matrixLevels is the number of shades in a matrix.
const matrixLevels = 8

// Matrix draws a table with one row and one column for each value of two parameters.
func Matrix(name, title string, m *analyze.Matrix, cells [][]MatrixCell, notes ...string) Chart {
	columns := len(m.X.Values)
	c := canvas{title: fmt.Sprintf("%s, by %s (rows) and %s (columns)", title, m.Y.Name, m.X.Name), height: matrixRow * len(cells)}
	at := func(x int) float64 { return (float64(x) + 0.5) / float64(columns) }
	c.plot(0, float64(cellWidth*columns), func() {
		for y := range cells {
			for x := range cells[y] {
				c.matrixCell(x, y, &cells[y][x])
			}
		}
	})
	for y := range cells {
		middle := float64(matrixRow*y) + matrixRow/2
		label := []rune(m.Y.Values[y])
		if len(label) > maxLabelRunes {
			label = append(label[:maxLabelRunes-1], '…')
		}
		c.group("y", func() { c.add(shape{kind: drawLabel, y: num(middle), text: string(label)}) })
		for x := range cells[y] {
			for i, line := range cells[y][x].Lines {
				top := middle + matrixText*(float64(i)+0.8-0.5*float64(len(cells[y][x].Lines)))
				c.add(shape{kind: drawWords, class: "cell", x: share(at(x)), y: num(top), text: line})
				c.about += fmt.Sprintf("%s %s, %s %s: %s. ", m.Y.Name, m.Y.Values[y], m.X.Name, m.X.Values[x], line)
			}
		}
	}
	ticks := make([]tick, 0, columns)
	for x, v := range m.X.Values {
		ticks = append(ticks, tick{at(x), v})
	}
	c.horizontal(ticks, 0, 1)
	out := finish(name, c, nil, notes...)
	out.Columns = columns
	return out
}

// matrixCell draws the background of a cell.
func (c *canvas) matrixCell(x, y int, cell *MatrixCell) {
	const gap = 1
	left, top := float64(cellWidth*x+gap), float64(matrixRow*y+gap)
	const width, height = cellWidth - 2*gap, matrixRow - 2*gap
	if cell.Class != "" {
		var o outline
		o.rectangle(left, top, width, height)
		c.path(cell.Class, &o, "")
	}
	if cell.Hatch {
		var o outline
		const lines = 12
		for i := range lines {
			from := left + float64(i)*width/lines
			o.move(num(from), num(top+height))
			o.line(num(from+width/lines), num(top))
		}
		c.path("hatch", &o, "")
	}
}

// FigureCells returns the cells for the values of a figure. The highest value has the strongest
// color. The function `show` formats a value.
func FigureCells(values [][]figures.Value, show func(figures.Value) string) [][]MatrixCell {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			if v.Known && !v.Failed {
				least, most = math.Min(least, v.Number), math.Max(most, v.Number)
			}
		}
	}
	out := make([][]MatrixCell, len(values))
	for y, row := range values {
		for _, v := range row {
			cell := MatrixCell{Lines: []string{show(v)}}
			if v.Known && !v.Failed {
				level := 1
				if most > least {
					level += int(math.Round((matrixLevels - 1) * (v.Number - least) / (most - least)))
				}
				cell.Class = "m" + strconv.Itoa(level)
			}
			out[y] = append(out[y], cell)
		}
	}
	return out
}

// changeSteps lists the ratios at which the color of a cell becomes stronger.
var changeSteps = []float64{1.1, 1.25, 1.5, 2}

// ChangeCells returns the cells for changes. The color shows the direction: one color for better,
// and another for worse. Unclear changes are hatched. The function `show` formats a change.
func ChangeCells(m *compare.ChangeMatrix, show func(*compare.ForestRow) string) [][]MatrixCell {
	out := make([][]MatrixCell, len(m.Rows))
	for y, row := range m.Rows {
		for _, r := range row {
			if r == nil {
				out[y] = append(out[y], MatrixCell{Lines: []string{"-"}})
				continue
			}
			cell := MatrixCell{Lines: []string{show(r), string(r.Word)}}
			size := math.Max(r.Ratio, 1/r.Ratio)
			level := 1
			for _, step := range changeSteps {
				if size >= step {
					level++
				}
			}
			switch r.Word {
			case stats.Better:
				cell.Class = "b" + strconv.Itoa(level)
			case stats.Worse:
				cell.Class = "w" + strconv.Itoa(level)
			case stats.Same:
			default:
				cell.Hatch = true
			}
			out[y] = append(out[y], cell)
		}
	}
	return out
}
