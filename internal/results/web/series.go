package web

import (
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
)

// series holds the values of a trial's charts for the script of the page. The script shows the
// values at the pointer.
type series struct {
	// Writes reports whether the horizontal axis counts writes instead of seconds.
	Writes bool    `json:"writes,omitempty"`
	From   int     `json:"from"`
	Width  int     `json:"width"`
	N      int     `json:"n"`
	Charts []panel `json:"charts"`
	Heat   *heat   `json:"heat,omitempty"`
}

// panel holds the values in one chart.
type panel struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Lines []line `json:"lines"`
}

// line holds the maximum of each column in High. If a minimum differs from its maximum in at least
// one column, Low holds all minimums; otherwise Low is empty. If the line is the median of repeats,
// Most and Least hold the highest and the lowest value of the repeats.
type line struct {
	High  values `json:"h"`
	Low   values `json:"l,omitempty"`
	Most  values `json:"m,omitempty"`
	Least values `json:"n,omitempty"`
}

// heat holds the counts of a heat map. An element of Columns begins with the number of the first
// row whose count is not 0. It continues with the counts from this row to the last row whose count
// is not 0. The element of a column without counts is empty.
type heat struct {
	First   int        `json:"first"`
	Rows    int        `json:"rows"`
	Columns [][]uint64 `json:"columns"`
}

// values is encoded with six digits per number, because the page shows no more. An unknown value is
// encoded as null.
type values []float64

// MarshalJSON writes the list.
func (v values) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
			continue
		}
		b = appendDigits(b, x)
	}
	return append(b, ']'), nil
}

// appendDigits appends a number with six digits, in the shortest form that JSON allows.
func appendDigits(b []byte, x float64) []byte {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 5, 64), 64)
	if err != nil {
		return append(b, "null"...)
	}
	plain := strconv.FormatFloat(rounded, 'f', -1, 64)
	if short := strconv.FormatFloat(rounded, 'e', -1, 64); len(short) < len(plain) {
		plain = short
	}
	return append(b, plain...)
}

// unitName returns the name that the script uses for a unit.
func unitName(u measure.Unit) string {
	switch u {
	case measure.Nanoseconds:
		return "ns"
	case measure.Rate:
		return "rate"
	case measure.Bytes:
		return "bytes"
	}
	return "number"
}

func seriesOf(o *overtime.Charts) *series {
	g := &o.Grid
	if g.Columns == 0 {
		return nil
	}
	s := &series{Writes: g.Writes, From: g.From, Width: g.Width, N: g.Columns}
	for i := range o.Panels {
		p := &o.Panels[i]
		one := panel{Name: p.Name, Unit: unitName(p.Unit)}
		for j := range p.Lines {
			l := line{High: p.Lines[j].High}
			for k, high := range p.Lines[j].High {
				if low := p.Lines[j].Low[k]; low != high && !math.IsNaN(low) {
					l.Low = p.Lines[j].Low
					break
				}
			}
			if r := p.Lines[j].Repeats; r != nil {
				l.Most, l.Least = r.High, r.Low
			}
			one.Lines = append(one.Lines, l)
		}
		s.Charts = append(s.Charts, one)
	}
	s.Heat = heatOf(&o.Heat)
	return s
}

func heatOf(m *overtime.HeatMap) *heat {
	if m.Rows == 0 {
		return nil
	}
	h := &heat{First: m.FirstRow, Rows: m.Rows}
	for _, cells := range m.Counts {
		first, last := len(cells), -1
		for r, n := range cells {
			if n > 0 {
				first, last = min(first, r), r
			}
		}
		column := []uint64{}
		if last >= 0 {
			column = append(append(column, uint64(first)), cells[first:last+1]...)
		}
		h.Columns = append(h.Columns, column)
	}
	return h
}

// points holds the points of a curve: the percentile, the time and, if the curve combines repeats,
// the lowest and the highest time of the repeats.
type points [][]float64

// MarshalJSON writes the list. The numbers have enough digits to distinguish the percentiles.
func (p points) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, one := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendFloat(b, one[0], 'g', 11, 64)
		for _, ns := range one[1:] {
			b = append(b, ',')
			b = appendDigits(b, ns)
		}
		b = append(b, ']')
	}
	return append(b, ']'), nil
}

func pointsOf(curves []overtime.PercentileCurve) []points {
	all := make([]points, len(curves))
	for i := range curves {
		all[i] = points{}
		for _, p := range curves[i].Points {
			point := []float64{p.Percentile, p.Nanoseconds}
			if curves[i].Repeats > 1 {
				point = append(point, p.Least, p.Most)
			}
			all[i] = append(all[i], point)
		}
	}
	return all
}
