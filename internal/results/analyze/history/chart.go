package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze/history/changepoint"
)

// The size of a series' chart, in characters.
const (
	chartRows  = 8
	chartWidth = 84
)

// Chart draws the series with text characters. A column stands for one run, or for several runs if
// the series has many. A dot marks a figure, a ring marks a suspect figure, and a cross marks a
// column without a figure. Lines show the levels between changes. The numbers of the changes are
// below the chart.
func (s *Series) Chart() []string {
	n := len(s.Points)
	columns := min(n, chartWidth)
	column := func(i int) int { return i * columns / n }
	low, high := s.Bounds()
	rows := chartRows
	if high <= low {
		rows = 1
	}
	row := func(x float64) int {
		if rows == 1 {
			return 0
		}
		return min(max(int((high-x)/(high-low)*float64(rows)), 0), rows-1)
	}
	grid := make([][]rune, rows)
	for r := range grid {
		grid[r] = slices.Repeat([]rune{' '}, columns)
	}
	marks := slices.Repeat([]rune{' '}, columns)
	for _, l := range s.Levels() {
		for i := l.From; i < l.To; i++ {
			grid[row(l.Value)][column(i)] = '─'
		}
	}
	for from := 0; from < n; {
		to, c := from, column(from)
		var values []float64
		suspect := false
		for ; to < n && column(to) == c; to++ {
			if p := &s.Points[to]; p.ExclusionReason == "" {
				values = append(values, p.Value)
				suspect = suspect || p.Suspect()
			}
		}
		from = to
		if len(values) == 0 {
			grid[rows-1][c] = '×'
			continue
		}
		slices.Sort(values)
		mark := '●'
		if suspect && len(values) == 1 {
			mark = '○'
		}
		grid[row(values[len(values)/2])][c] = mark
	}
	for k := range s.Changes {
		c := &s.Changes[k]
		number := '+'
		if k < 9 {
			number = '1' + rune(k)
		}
		marks[column(c.Index)] = number
		if c.Kind == changepoint.Drift {
			for i := column(c.Index) + 1; i <= column(c.LastDriftIndex); i++ {
				marks[i] = '~'
			}
		}
	}
	labels := []string{s.Metric.Text(high), s.Metric.Text(low)}
	width := max(utf8.RuneCountInString(labels[0]), utf8.RuneCountInString(labels[1]))
	lines := make([]string, 0, rows+2)
	for r := range grid {
		label := ""
		switch r {
		case 0:
			label = labels[0]
		case rows - 1:
			label = labels[1]
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%*s ┤%s", width, label, string(grid[r])), " "))
	}
	if len(s.Changes) > 0 {
		lines = append(lines, strings.TrimRight(strings.Repeat(" ", width+2)+string(marks), " "))
	}
	first, last := pointLabel(&s.Points[0]), pointLabel(&s.Points[n-1])
	gap := max(columns-utf8.RuneCountInString(first)-utf8.RuneCountInString(last), 2)
	return append(lines, strings.Repeat(" ", width+2)+first+strings.Repeat(" ", gap)+last)
}

// pointLabel returns the short label of a point on the time axis.
func pointLabel(p *Point) string {
	const most = 24
	label := p.Title()
	if !p.Time.IsZero() {
		label = p.Time.UTC().Format(time.DateOnly)
	}
	if r := []rune(label); len(r) > most {
		label = string(r[:most-1]) + "…"
	}
	return label
}

// Level is a part of a series between two changes. From is the index of its first point, and To is
// the index after its last point.
type Level struct {
	From, To int
	Value    float64
}

// Levels returns the levels of a series. It omits the points during a drift. A series without a
// change has no levels.
func (s *Series) Levels() (all []Level) {
	for k := range s.Changes {
		c := &s.Changes[k]
		to := len(s.Points)
		if k+1 < len(s.Changes) {
			to = s.Changes[k+1].Index
		}
		if k == 0 && c.Index > 0 {
			all = append(all, Level{0, c.Index, c.Before})
		}
		if c.LastDriftIndex < to {
			all = append(all, Level{c.LastDriftIndex, to, c.After})
		}
	}
	return all
}

// Bounds returns the lowest and the highest figure that a chart must show. If the series has
// many figures, Bounds ignores the most extreme ones, and the chart shows them at its edges.
func (s *Series) Bounds() (low, high float64) {
	var values []float64
	for i := range s.Points {
		if p := &s.Points[i]; p.ExclusionReason == "" {
			values = append(values, p.Value)
		}
	}
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	cut := len(values) / 50
	return values[cut], values[len(values)-1-cut]
}
