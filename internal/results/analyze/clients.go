package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// ClientsCurve shows how evenly the clients of a closed loop were served: the number of operations
// per client, in ascending order.
type ClientsCurve struct {
	Clients int
	// Operations holds the number of operations of each client, or of an evenly spaced sample of
	// the clients. Mean is the mean number over all clients.
	Operations []uint64
	Mean       float64
}

// ClientsCurveOf returns the curve of a closed loop. It returns false if there is only one client
// or if no operation completed.
func ClientsCurveOf(t *record.Trial) (c ClientsCurve, ok bool) {
	b := t.ByClient
	if b == nil || len(b.Operations) < 2 || b.Mean <= 0 {
		return c, false
	}
	return ClientsCurve{Clients: b.Count, Operations: b.Operations, Mean: b.Mean}, true
}
