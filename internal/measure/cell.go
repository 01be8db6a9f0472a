package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Series says what a histogram is of. Which role the member had is resolved
// afterwards, by (Member, Term).
type Series struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64 // the member that answered; 0: nobody did, or it does not say
	Term        uint64 // the term in the answer; 0 likewise
}

// Errors is how many error outcomes there are.
const Errors = int(kv.NumOutcomes - kv.NotSent)

// ErrorIndex is an error outcome's place in an array of Errors.
func ErrorIndex(o kv.Outcome) int { return int(o - kv.NotSent) }

// Cell holds a series' operations that were due in one span of time. A nil
// histogram is an empty one.
type Cell struct {
	Series
	Response *Histogram         // done - due of successes, whatever the answer
	Service  *Histogram         // done - sent of successes
	Failed   [Errors]*Histogram // known - due of errors, by kind
}

// histograms is how many the cell has.
func (c *Cell) histograms() (n int) {
	for _, h := range append(c.Failed[:], c.Response, c.Service) {
		if h != nil {
			n++
		}
	}
	return n
}

// MergeCells adds the cells of from to those of into, by series, and returns
// into. The cells of from stay as they are.
func MergeCells(into, from []*Cell) []*Cell {
	for _, f := range from {
		var to *Cell
		for _, c := range into {
			if c.Series == f.Series {
				to = c
				break
			}
		}
		if to == nil {
			to = &Cell{Series: f.Series}
			into = append(into, to)
		}
		to.Response = Add(to.Response, f.Response)
		to.Service = Add(to.Service, f.Service)
		for i := range to.Failed {
			to.Failed[i] = Add(to.Failed[i], f.Failed[i])
		}
	}
	return into
}
