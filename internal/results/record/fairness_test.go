package record

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// FairnessOf returns the correct index for vectors whose index is given in the paper or follows
// from simple arithmetic.
func TestFairnessOfKnownVectors(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{
		{[]float64{7}, 1},
		{[]float64{3, 3, 3, 3}, 1},
		{[]float64{1, 0}, 0.5},
		{[]float64{5, 5, 5, 0, 0, 0, 0, 0, 0, 0}, 0.3},
		{[]float64{1, 2, 3}, 36.0 / (3 * 14)},
		{[]float64{50, 30, 50}, 130.0 * 130 / (3 * 5900)},
		{[]float64{1e200, 1e200}, 1},
	} {
		if got, ok := FairnessOf(c.shares); !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("the index of %v is %v, not %v", c.shares, got, c.want)
		}
	}
	for _, none := range [][]float64{nil, {0}, {0, 0, 0}} {
		if got, ok := FairnessOf(none); ok || got != 0 {
			t.Errorf("%v: %v", none, got)
		}
	}
}

// The index is in [1/n, 1], does not depend on order or unit, and equals 1/(1+c²) for the
// coefficient of variation c.
func TestFairnessHasJainsProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 84))
	for range 500 {
		all := make([]float64, 1+r.IntN(40))
		sum, squares := 0.0, 0.0
		for i := range all {
			all[i] = math.Floor(r.ExpFloat64() * 1000)
			sum += all[i]
		}
		all[0]++
		sum++
		n := float64(len(all))
		for _, x := range all {
			squares += (x - sum/n) * (x - sum/n)
		}
		got, ok := FairnessOf(all)
		if want := 1 / (1 + squares/n/(sum/n)/(sum/n)); !ok || math.Abs(got-want) > 1e-9 || got < 1/n-1e-12 || got > 1+1e-12 {
			t.Fatalf("the index of %v is %v, not %v", all, got, want)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		unit := math.Exp(20 * (r.Float64() - 0.5))
		for i := range all {
			all[i] *= unit
		}
		if again, _ := FairnessOf(all); math.Abs(again-got) > 1e-9 {
			t.Fatalf("after shuffling and scaling %v, the index is %v, want no change", got, again)
		}
	}
}

// connected returns a random number of connections to each endpoint. Each connection has a random
// number of clients.
func connected(r *rand.Rand, endpoints ...string) (all []measure.Connection) {
	for _, endpoint := range endpoints {
		for range 1 + r.IntN(4) {
			c := measure.Connection{Endpoint: endpoint}
			for range 1 + r.IntN(20) {
				c.Completed = append(c.Completed, uint64(r.IntN(1000)))
			}
			all = append(all, c)
		}
	}
	return all
}

// The figures about clients depend only on the number of operations of each client. The division of
// the clients among connections does not affect them. Writing and reading the figures does not
// change them.
func TestByClientCoversAllClients(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 11))
	for range 200 {
		connections := connected(r, "a:1", "b:2", "")
		var each []uint64
		for _, c := range connections {
			each = append(each, c.Completed...)
		}
		slices.Sort(each)
		sum, tenth, starved := uint64(0), uint64(0), 0
		k := int(math.Ceil(float64(len(each)) / 10))
		for i, n := range each {
			if sum += n; i < k {
				tenth += n
			}
			if 10*n < each[(len(each)-1)/2] {
				starved++
			}
		}
		b := byClient(connections)
		if b.Count != len(each) || b.Tenth != k || b.Starved != starved || math.Abs(b.Mean*float64(b.Count)-float64(sum)) > 1e-6*float64(sum) ||
			math.Abs(*b.TenthShare*float64(sum)-float64(tenth)) > 1e-6*float64(sum) {
			t.Fatalf("the summary is %+v for the clients %v", b, each)
		}
		if !slices.IsSorted(b.Operations) || b.Operations[0] != each[0] || b.Operations[len(b.Operations)-1] != each[len(each)-1] ||
			len(b.Operations) != min(len(each), maxListed) || len(each) <= maxListed && !slices.Equal(b.Operations, each) {
			t.Fatalf("listed are %v of %v", b.Operations, each)
		}
		if b.Fewest != float64(each[0]) || b.Most != float64(each[len(each)-1]) || b.Median != float64(each[(len(each)-1)/2]) {
			t.Fatalf("the summary is %+v for the clients %v", b, each)
		}
		if (b.Connections == nil) != (len(connections) == len(each)) || b.Connections != nil && b.Connections.Count != len(connections) {
			t.Fatalf("the summary of %d connections with %d clients is %+v", len(connections), len(each), b.Connections)
		}
		r.Shuffle(len(connections), func(i, j int) { connections[i], connections[j] = connections[j], connections[i] })
		again := byClient(connections)
		text, err := json.Marshal(again)
		must(t, err)
		var read ByClient
		must(t, json.Unmarshal(text, &read))
		near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(x+y) })
		if diff := cmp.Diff(b, &read, near); diff != "" {
			t.Fatal(diff)
		}
	}
	if byClient(nil) != nil || byClient([]measure.Connection{{Endpoint: "a:1"}}) != nil {
		t.Error("byClient returns clients for connections without clients")
	}
	if b := byClient([]measure.Connection{{Completed: []uint64{0, 0}}}); b.FairnessIndex != nil || b.TenthShare != nil {
		t.Errorf("clients without completed operations have %+v", b)
	}
}

// A client belongs to a member if its connection led to this member during the whole window. If the
// connection moved, the client belongs to no member.
func TestClientsByMember(t *testing.T) {
	m := stall()
	m.Connections = []measure.Connection{{Endpoint: "a:1", Completed: []uint64{10, 20}}, {Endpoint: "b:2", Completed: []uint64{4}}, {Endpoint: "a:1", Completed: []uint64{60}}, {Completed: []uint64{7}}}
	m.Links = []measure.Link{{Endpoint: "a:1", Connections: 2, LostAt: -1, BackAt: -1}, {Endpoint: "b:2", Connections: 1, LostAt: -1, BackAt: -1}, {Endpoint: "c:3", LostAt: -1, BackAt: -1}}
	trial := NewTrial(conditions(), Observed{CPUSeconds: 1}, m, nil, nil)
	of := map[string]*Evenness{}
	for _, b := range trial.ByMember {
		of[b.Endpoint] = b.Clients
	}
	if a := of["a:1"]; a == nil || a.Count != 3 || a.Mean != 30 || a.Fewest != 10 || a.Most != 60 || of["b:2"].Count != 1 || of["c:3"] != nil {
		t.Errorf("%+v", of)
	}
	if trial.ByClient.Count != 5 || trial.ByClient.Mean != 101.0/5 || trial.ByClient.FairnessIndex == nil {
		t.Errorf("%+v", trial.ByClient)
	}
}
