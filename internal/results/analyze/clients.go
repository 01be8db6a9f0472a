package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// ClientsCurve is what the clients of a closed loop did, from the one that
// completed the fewest operations to the one that completed the most.
type ClientsCurve struct {
	Clients int
	// Operations are of all of them, or of some at even distances; Mean is what
	// even service gives each.
	Operations []uint64
	Mean       float64
}

// ClientsCurveOf is there of a closed loop of several clients that did anything.
func ClientsCurveOf(t *record.Trial) (c ClientsCurve, ok bool) {
	b := t.ByClient
	if b == nil || len(b.Operations) < 2 || b.Mean <= 0 {
		return c, false
	}
	return ClientsCurve{Clients: b.Count, Operations: b.Operations, Mean: b.Mean}, true
}
