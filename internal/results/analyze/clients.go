package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// ClientsCurve holds the operations of each client of a closed loop, in ascending order.
type ClientsCurve struct {
	Clients int
	// Operations are the counts of all clients, or of a sample at equal distances; Mean is the
	// count per client.
	Operations []uint64
	Mean       float64
}

// ClientsCurveOf returns the curve of a closed loop of several clients that completed
// operations.
func ClientsCurveOf(t *record.Trial) (c ClientsCurve, ok bool) {
	b := t.ByClient
	if b == nil || len(b.Operations) < 2 || b.Mean <= 0 {
		return c, false
	}
	return ClientsCurve{Clients: b.Count, Operations: b.Operations, Mean: b.Mean}, true
}
