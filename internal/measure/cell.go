package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Series identifies the operations that a histogram counts. The member's role is derived later from
// Member and Term.
type Series struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64 // the member that replied; 0 if unknown
	Term        uint64 // the term in the reply; 0 if unknown
}

// NumErrors is the number of outcomes that are errors.
const NumErrors = int(kv.NumOutcomes - kv.NotSent)

// ErrorIndex returns the index of an error outcome in an array of length NumErrors.
func ErrorIndex(o kv.Outcome) int { return int(o - kv.NotSent) }

// Cell holds the times of a series' operations that became due in one period. A nil histogram is
// empty.
type Cell struct {
	Series
	Response *Histogram            // done - due of the successes
	Service  *Histogram            // done - sent of the successes
	Failed   [NumErrors]*Histogram // time of error - due of the failures, by kind of error
}

// countHistograms returns the number of histograms in the cell.
func (c *Cell) countHistograms() (n int) {
	for _, h := range append(c.Failed[:], c.Response, c.Service) {
		if h != nil {
			n++
		}
	}
	return n
}

// CountFailed returns the number of failures in the cell.
func (c *Cell) CountFailed() (n uint64) {
	for _, h := range c.Failed {
		n += Count(h)
	}
	return n
}

// Merge adds the times in o to c. It does not change o.
func (c *Cell) Merge(o *Cell) {
	c.Response = Add(c.Response, o.Response)
	c.Service = Add(c.Service, o.Service)
	for i := range c.Failed {
		c.Failed[i] = Add(c.Failed[i], o.Failed[i])
	}
}

// MergeCells adds each cell in src to the cell in dst that has the same series. If dst has no such
// cell, MergeCells appends a new cell. It returns the extended dst, and does not change src.
func MergeCells(dst, src []*Cell) []*Cell {
	for _, f := range src {
		var merged *Cell
		for _, c := range dst {
			if c.Series == f.Series {
				merged = c
				break
			}
		}
		if merged == nil {
			merged = &Cell{Series: f.Series}
			dst = append(dst, merged)
		}
		merged.Merge(f)
	}
	return dst
}
