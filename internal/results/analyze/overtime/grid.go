package overtime

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Grid divides the time of a trial into columns of equal width.
type Grid struct {
	Opened time.Time // the time at which second 0 of the grid starts
	// Writes is set if the horizontal axis counts completed writes instead of seconds.
	Writes  bool
	From    int // the second at which the first column starts; negative if it is in the warm-up
	Width   int // width of a column in seconds
	Columns int // number of columns
	// Window is the length of the measurement window in seconds.
	Window float64
}

// EndSecond returns the second at which the last column ends.
func (g *Grid) EndSecond() int { return g.From + g.Columns*g.Width }

// Column returns the index of the column that contains a time. It returns false if the time is
// outside the grid.
func (g *Grid) Column(at time.Time) (i int, ok bool) {
	return g.column(at.Sub(g.Opened).Seconds())
}

func (g *Grid) column(seconds float64) (i int, ok bool) {
	i = int(math.Floor((seconds - float64(g.From)) / float64(g.Width)))
	return i, i >= 0 && i < g.Columns
}

// Panel is one chart over time.
type Panel struct {
	Name  string // used in file names and links
	Title string
	Unit  measure.Unit
	Log   bool // use a logarithmic axis, because the values span several powers of ten
	Lines []Line
	Notes []string // sentences below the chart
	// Key explains lines that are medians of repeats. It is empty if the lines show one repeat.
	Key string
	// MemberRanges is set if each line shows the range of the values of several members. If it is
	// not set, a line shows the range of the values of several seconds.
	MemberRanges bool
}

// Line is one series of values. Low and High hold the minimum and maximum of each column, or NaN if
// unknown. They are equal if the column has a single value.
type Line struct {
	Name      string
	Low, High []float64
	// Repeats holds the lowest and the highest value of the repeats whose median the line shows. It
	// is nil if the line shows one repeat.
	Repeats *Line
}

// newLine returns a line without values.
func (g *Grid) newLine(name string) Line {
	l := Line{Name: name, Low: make([]float64, g.Columns), High: make([]float64, g.Columns)}
	for i := range l.Low {
		l.Low[i], l.High[i] = math.NaN(), math.NaN()
	}
	return l
}

// add adds a value to a column. It ignores NaN and infinite values.
func (l *Line) add(i int, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if math.IsNaN(l.Low[i]) {
		l.Low[i], l.High[i] = v, v
		return
	}
	l.Low[i], l.High[i] = min(l.Low[i], v), max(l.High[i], v)
}

// fillBetween adds the values `low` and `high` to all columns whose middles are in the given range
// of the axis. If there is no such column, it adds them to the column that contains the middle of
// the range.
func (l *Line) fillBetween(g *Grid, from, to, low, high float64) {
	half := float64(g.Width) / 2
	first, _ := g.column(from + half)
	last, _ := g.column(to - half)
	if last < first {
		first, _ = g.column(from + (to-from)/2)
		last = first
	}
	for column := max(first, 0); column <= min(last, g.Columns-1); column++ {
		l.add(column, low)
		l.add(column, high)
	}
}

// Empty reports whether the line has no values.
func (l *Line) Empty() bool {
	if l.Repeats != nil && !l.Repeats.Empty() {
		return false
	}
	for _, v := range l.Low {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// maxTrialSeconds is the length, in seconds, of the longest trial that is drawn. A longer time
// indicates a damaged file.
const maxTrialSeconds = 10 * 365 * 24 * 3600

// gridOf returns the grid for a trial, with at most the given number of columns. The caller must
// have read the trial's files. The grid has no columns if no seconds were recorded.
func gridOf(t *record.Trial, columns int) Grid {
	var g Grid
	if len(t.Timeline) == 0 {
		return g
	}
	first := t.Timeline[0]
	g.Opened = first.Time
	for i := range t.Timeline {
		if r := &t.Timeline[i]; r.Phase == measure.Measured.String() {
			g.Opened = r.Time.Add(-time.Duration(r.Second) * time.Second)
			break
		}
	}
	least, most := 0.0, 0.0
	for i := range t.Timeline {
		at := t.Timeline[i].Time.Sub(g.Opened).Seconds()
		least, most = min(least, at), max(most, at)
	}
	if most-least > maxTrialSeconds {
		return Grid{}
	}
	g.From = int(math.Floor(least))
	span := int(math.Floor(most)) + 1 - g.From
	g.Width = max((span+columns-1)/max(columns, 1), 1)
	g.Columns = (span + g.Width - 1) / g.Width
	g.Window = t.Seconds
	if g.Window <= 0 { // the trial has no result: use the recorded time
		g.Window = math.Floor(most) + 1
	}
	return g
}
