package record

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// ByClient is how evenly the clients of a closed loop were served. An open loop
// has none: there the schedule says whose turn it is, whatever the store does.
type ByClient struct {
	Evenness
	// Tenth is how many clients a tenth of them are, rounded up, and TenthShare the
	// part that those did who completed the fewest, of what all did; null if that
	// is nothing.
	Tenth      int      `json:"tenth"`
	TenthShare *float64 `json:"slowest_tenth_share"`
	// Starved is how many completed less than a tenth of the median client's.
	Starved int `json:"starved"`
	// Operations are the clients' operations in ascending order: of each client,
	// or of mostListed at even distances, the first and the last among them.
	Operations []uint64 `json:"operations"`
	// Connections counts each connection with the mean of its clients; null where
	// each client has its own.
	Connections *Evenness `json:"connections"`
}

// Evenness is how evenly several were served: how many operations each completed,
// of those due in the window.
type Evenness struct {
	Count int `json:"count"`
	// Fairness is FairnessOf what each completed; null if that is nothing.
	Fairness *float64 `json:"fairness"`
	Mean     float64  `json:"mean"`
	Fewest   float64  `json:"fewest"`
	Median   float64  `json:"median"` // of an even number the lower of the middle two
	Most     float64  `json:"most"`
}

// mostListed is how many clients' operations are in a record.
const mostListed = 21

// Starved is the share of the median client's operations below which a client is
// starved.
const Starved = 0.1

// FairnessOf is Jain's fairness index (Jain, Chiu and Hawe, "A quantitative
// measure of fairness and discrimination", 1984): the square of the sum over the
// number times the sum of squares. It is 1 where all have the same, k/n where k of
// n have it all between them, and does not depend on the unit. ok is false where
// nobody has anything.
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
		x /= most // so that no square is beyond what there is
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(shares)) * squares), true
}

// evennessOf sorts its numbers, of which there are some.
func evennessOf(each []float64) Evenness {
	slices.Sort(each)
	e := Evenness{Count: len(each), Fewest: each[0], Median: each[(len(each)-1)/2], Most: each[len(each)-1]}
	for _, x := range each {
		e.Mean += x / float64(len(each))
	}
	if index, ok := FairnessOf(each); ok {
		e.Fairness = &index
	}
	return e
}

// byClient is nil without clients.
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

// clientsAt are the clients whose connections went to an endpoint; nil without
// any.
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

// listed is what ByClient.Operations has of sorted numbers.
func listed(clients []float64) []uint64 {
	n := min(len(clients), mostListed)
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
