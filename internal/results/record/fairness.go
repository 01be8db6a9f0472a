package record

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// ByClient reports how evenly the clients of a closed loop were served. An open loop has no
// ByClient: its schedule chooses the client for each operation, so the store has no influence on
// how evenly clients are served.
type ByClient struct {
	Evenness
	// Tenth is a tenth of the number of clients, rounded up. TenthShare is the share of all
	// operations that the slowest tenth of the clients completed. TenthShare is null if no
	// operation completed.
	Tenth      int      `json:"tenth"`
	TenthShare *float64 `json:"slowest_tenth_share"`
	// Starved is the number of clients that completed less than a tenth of the median client's
	// operations.
	Starved int `json:"starved"`
	// Operations lists the number of operations of clients, in ascending order. If there are more
	// than maxListed clients, it lists only maxListed of them, evenly spaced, including the first
	// and the last.
	Operations []uint64 `json:"operations"`
	// Connections describes how evenly the connections were served. The value of a connection is
	// the mean number of operations of its clients. Connections is null if each client has its own
	// connection.
	Connections *Evenness `json:"connections"`
}

// Evenness describes how evenly clients or connections were served. The figures cover only
// operations that were due in the window and completed.
type Evenness struct {
	Count int `json:"count"`
	// FairnessIndex is the result of FairnessOf for the completed operations, or null if no
	// operation completed.
	FairnessIndex *float64 `json:"fairness"`
	Mean          float64  `json:"mean"`
	Fewest        float64  `json:"fewest"`
	Median        float64  `json:"median"` // if Count is even, the lower of the middle two
	Most          float64  `json:"most"`
}

// maxListed is the maximum number of clients whose operations a record lists.
const maxListed = 21

// Starved is a share of the median client's operations. A client that completed fewer operations
// than this share counts as starved.
const Starved = 0.1

// FairnessOf returns Jain's fairness index (Jain, Chiu and Hawe, "A quantitative measure of
// fairness and discrimination", 1984): the square of the sum of n shares, divided by n times the
// sum of their squares. The index is 1 if all shares are equal, and k/n if k of n clients share
// everything equally. It does not depend on the unit of the shares. ok is false if all shares are
// 0.
func FairnessOf(shares []float64) (index float64, ok bool) {
	most := 0.0
	for _, x := range shares {
		most = math.Max(most, x)
	}
	if most <= 0 {
		return 0, false
	}
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		x /= most // scale the shares, so that their squares do not overflow
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(shares)) * squares), true
}

// evennessOf computes the evenness of at least one value. It sorts the slice that it receives.
func evennessOf(values []float64) Evenness {
	slices.Sort(values)
	e := Evenness{Count: len(values), Fewest: values[0], Median: values[(len(values)-1)/2], Most: values[len(values)-1]}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	e.Mean = sum / float64(len(values))
	if index, ok := FairnessOf(values); ok {
		e.FairnessIndex = &index
	}
	return e
}

// byClient reports how evenly the clients of all connections were served. It returns nil if there
// are no clients.
func byClient(all []measure.Connection) *ByClient {
	var clients, connections []float64
	for i := range all {
		own := operations(all[i].Completed)
		clients = append(clients, own...)
		if len(own) > 0 {
			connections = append(connections, evennessOf(own).Mean)
		}
	}
	if len(clients) == 0 {
		return nil
	}
	b := &ByClient{Evenness: evennessOf(clients), Tenth: (len(clients) + 9) / 10, Operations: listed(clients)}
	if len(connections) < len(clients) {
		each := evennessOf(connections)
		b.Connections = &each
	}
	tenth, sum := 0.0, 0.0
	for i, x := range clients {
		sum += x
		if i < b.Tenth {
			tenth += x
		}
		if x < Starved*b.Median {
			b.Starved++
		}
	}
	if sum > 0 {
		b.TenthShare = new(tenth / sum)
	}
	return b
}

// clientsAt returns the evenness of the clients that were connected to an endpoint, or nil if there
// were none.
func clientsAt(all []measure.Connection, endpoint string) *Evenness {
	var clients []float64
	for i := range all {
		if all[i].Endpoint == endpoint && endpoint != "" {
			clients = append(clients, operations(all[i].Completed)...)
		}
	}
	if len(clients) == 0 {
		return nil
	}
	e := evennessOf(clients)
	return &e
}

func operations(completed []uint64) []float64 {
	all := make([]float64, 0, len(completed))
	for _, n := range completed {
		all = append(all, float64(n))
	}
	return all
}

// listed selects the values for ByClient.Operations. The parameter `clients` holds the number of
// operations of each client, in ascending order.
func listed(clients []float64) []uint64 {
	n := min(len(clients), maxListed)
	all := make([]uint64, n)
	for i := range all {
		at := i
		if len(clients) > n {
			at = (i*(len(clients)-1) + (n-1)/2) / (n - 1)
		}
		all[i] = uint64(clients[at])
	}
	return all
}
