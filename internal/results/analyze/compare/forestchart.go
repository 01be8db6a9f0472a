package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Widths in a forest plot for the terminal, in columns.
const (
	forestName = 28
	forestWord = 7
)

// Chart draws the plot with text characters, one line for each trial. It is at most
// text.ScreenWidth columns wide. A filled dot marks a ratio with an interval, and a ring marks a
// ratio without one.
func (f *Forest) Chart() []string {
	name := 0
	for i := range f.Rows {
		name = max(name, min(utf8.RuneCountInString(f.Rows[i].Name), forestName))
	}
	low, high := f.Bounds()
	width := text.ScreenWidth - name - forestWord - 4
	p := textAxis{math.Log(low) - 0.03, math.Log(high) + 0.03, width}
	lines := []string{strings.TrimRight(strings.Repeat(" ", name+2)+p.labels(Ticks(low, high)), " ")}
	for i := range f.Rows {
		r := &f.Rows[i]
		label := []rune(r.Name)
		if len(label) > name {
			label = append(label[:name-1], '…')
		}
		lines = append(lines, fmt.Sprintf("%-*s  %s  %s", name, string(label), p.row(f, r), r.Word))
	}
	return lines
}

// textAxis is a logarithmic axis of characters.
type textAxis struct {
	low, high float64 // logarithms of the ends
	width     int
}

// column returns the column of a ratio. A ratio beyond an end is in the column at this end.
func (p *textAxis) column(ratio float64) int {
	if !(ratio > 0) {
		return 0
	}
	at := (math.Log(ratio) - p.low) / (p.high - p.low) * float64(p.width)
	return int(min(max(at, 0), float64(p.width-1)))
}

// labels returns the line with the labels of the ticks. It omits a label that would touch another.
func (p *textAxis) labels(ticks []float64) string {
	line := slices.Repeat([]rune{' '}, p.width+4)
	free := 0
	for _, t := range ticks {
		label := []rune(text.Number(t))
		from := max(p.column(t)-len(label)/2, 0)
		if from < free || from+len(label) > len(line) {
			continue
		}
		copy(line[from:], label)
		free = from + len(label) + 1
	}
	return string(line)
}

// row returns the line of a trial: its ratio, its interval, the line at 1, and the margin.
func (p *textAxis) row(f *Forest, r *ForestRow) string {
	line := slices.Repeat([]rune{' '}, p.width)
	fill := func(low, high float64, mark rune) {
		for i := p.column(low); i <= p.column(high); i++ {
			line[i] = mark
		}
	}
	fill(1/(1+f.Margin), 1+f.Margin, '░')
	fill(1, 1, '│')
	dot := '○'
	if r.Interval {
		fill(r.CorrectedLow, r.CorrectedHigh, '─')
		fill(r.Low, r.High, '━')
		dot = '●'
	}
	fill(r.Ratio, r.Ratio, dot)
	return string(line)
}
