package compare

import "github.com/quorumbench/quorumbench/internal/results/analyze"

// ChangeMatrix holds the changes of one metric in the trials of a matrix.
type ChangeMatrix struct {
	*analyze.Matrix
	Metric string
	// Rows holds the changes by row and column. An element is nil if the metric was not compared.
	Rows   [][]*ForestRow
	Margin float64
}

// Matrices returns a matrix for each metric, if the compared trials of the run form a matrix. It
// omits metrics without a known change.
func (c *Comparison) Matrices() (out []ChangeMatrix) {
	pairs := map[string]*Pair{}
	for i := range c.Pairs {
		pairs[c.Pairs[i].Name] = &c.Pairs[i]
	}
	var rows []*analyze.Row
	for _, r := range analyze.Rows(c.Run) {
		if pairs[r.First().Name] != nil {
			rows = append(rows, r)
		}
	}
	matrices := analyze.Matrices(rows)
	for i := range matrices {
		for k := range c.Metrics.Figures {
			m := ChangeMatrix{Matrix: &matrices[i], Metric: c.Metrics.Figures[k].Title, Margin: c.Margin}
			known := false
			for _, cells := range m.Cells {
				line := make([]*ForestRow, len(cells))
				for x, r := range cells {
					if r == nil {
						continue
					}
					if f := &pairs[r.First().Name].Figures[k]; f.Change.Known {
						line[x], known = new(newForestRow(r.First().Name, f)), true
					}
				}
				m.Rows = append(m.Rows, line)
			}
			if known {
				out = append(out, m)
			}
		}
	}
	return out
}
