package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Matrix holds trials that differ in exactly two parameters.
type Matrix struct {
	Title string // the operations and the store
	// X is the parameter that differs between columns, and Y is the one that differs between rows.
	X, Y MatrixAxis
	// Cells holds the trials by row and column. A cell is nil if the run has no such trial.
	Cells [][]*Row
}

// MatrixAxis is a parameter of a matrix and its values, in the order of the scenario.
type MatrixAxis struct {
	Name   string
	Values []string
}

// maxAxisValues is the maximum number of rows and of columns of a matrix. The cells of a larger
// matrix do not fit on a page.
const maxAxisValues = 30

// Matrices returns the matrices in a run. A matrix has at least two rows and two columns, at most
// maxAxisValues of each, and more trials than its first row and first column together.
func Matrices(rows []*Row) (out []Matrix) {
	var order []string
	groups := map[string][]*Row{}
	for _, r := range rows {
		t := r.First()
		key := strings.Join([]string{t.Dir, Store(t), t.Label, t.Exec, t.Environment(), fmt.Sprint(t.TLS, t.Authenticated, t.Open()), Headline(t)}, "\x00")
		order = AppendNew(order, key)
		groups[key] = append(groups[key], r)
	}
	for _, key := range order {
		if m, ok := newMatrix(groups[key]); ok {
			out = append(out, m)
		}
	}
	return out
}

func newMatrix(rows []*Row) (m Matrix, ok bool) {
	varied := variedParameters(rows)
	if len(varied) != 2 {
		return m, false
	}
	first := rows[0].First()
	m = Matrix{Title: Headline(first) + " on " + Store(first), Y: MatrixAxis{Name: varied[0].name}, X: MatrixAxis{Name: varied[1].name}}
	for _, r := range rows {
		m.Y.Values, m.X.Values = AppendNew(m.Y.Values, varied[0].of(r)), AppendNew(m.X.Values, varied[1].of(r))
	}
	if len(rows) < len(m.X.Values)+len(m.Y.Values) || max(len(m.X.Values), len(m.Y.Values)) > maxAxisValues {
		return m, false
	}
	m.Cells = make([][]*Row, len(m.Y.Values))
	for i := range m.Cells {
		m.Cells[i] = make([]*Row, len(m.X.Values))
	}
	for _, r := range rows {
		cell := &m.Cells[slices.Index(m.Y.Values, varied[0].of(r))][slices.Index(m.X.Values, varied[1].of(r))]
		if *cell != nil {
			return m, false // the trials also differ in a condition that is not a parameter
		}
		*cell = r
	}
	return m, true
}

// variedParameter is a parameter in which trials differ.
type variedParameter struct {
	name string
	of   func(*Row) string
}

// variedParameters returns the parameters in which trials differ. It ignores the connections if
// they differ only because trials with few clients use one connection per client.
func variedParameters(rows []*Row) (out []variedParameter) {
	differs := func(of func(*Row) string) bool {
		return slices.ContainsFunc(rows, func(r *Row) bool { return of(r) != of(rows[0]) })
	}
	add := func(name string, of func(*record.Trial) string) {
		p := variedParameter{name, func(r *Row) string { return of(r.First()) }}
		if differs(p.of) {
			out = append(out, p)
		}
	}
	loads := make([]*scenario.Load, len(rows))
	most := 0
	for i, r := range rows {
		loads[i] = &r.First().Load
		most = max(most, r.First().Connections)
	}
	follows := !slices.ContainsFunc(rows, func(r *Row) bool {
		t := r.First()
		return t.Connections != most && t.Connections != t.Clients
	})
	add("members", func(t *record.Trial) string { return fmt.Sprint(t.Members) })
	for _, p := range scenario.ParametersOf(loads...) {
		if p.DifferenceName == "" || p.Key == "connections" && follows {
			continue
		}
		switch p.Key {
		case "value-size":
			add(p.Key, func(t *record.Trial) string { return text.Bytes(uint64(t.ValueSize)) })
		case "key-size":
			add(p.Key, func(t *record.Trial) string { return text.Bytes(uint64(t.KeySize)) })
		default:
			add(p.Key, func(t *record.Trial) string { return p.Text(&t.Load) })
		}
	}
	return out
}

// First returns the first trial of the matrix.
func (m *Matrix) First() *Row {
	for _, row := range m.Cells {
		for _, r := range row {
			if r != nil {
				return r
			}
		}
	}
	return nil
}

// Values returns the values of a figure by row and column. The value of a cell without a trial is
// unknown.
func (m *Matrix) Values(f *figures.Figure) [][]figures.Value {
	out := make([][]figures.Value, len(m.Cells))
	for y, row := range m.Cells {
		out[y] = make([]figures.Value, len(row))
		for x, r := range row {
			if r != nil && len(r.Done) > 0 {
				out[y][x], _ = r.Figure(f)
			}
		}
	}
	return out
}
