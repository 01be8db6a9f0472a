package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
)

// sent records the kind and key of each operation that a load sent, by phase and number.
type sent struct {
	mu      sync.Mutex
	ops     map[string]string
	doubled int
	clients map[uint32]bool
}

// noting is a source that records the operations that it fills.
type noting struct {
	*source
	to *sent
}

func (s *noting) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	ref := s.source.Fill(phase, n, client, op)
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	name := fmt.Sprintf("%v %d", phase, n)
	if _, ok := s.to.ops[name]; ok {
		s.to.doubled++
	}
	s.to.ops[name] = fmt.Sprintf("%v %s", op.Kind, op.Key)
	s.to.clients[client] = true
	return ref
}

// simulated runs one shard of a load in a simulated World.
func simulated(t *testing.T, l scenario.Load, shard Shard, to *sent, each func(*measure.Second)) *Result {
	t.Helper()
	a := &Assignment{Load: l, Endpoints: []string{"m1", "m2", "m3"}, Shard: shard}
	world := simulate.New(a.Loops(), 20_000, &simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6, Spread: 0.1, Seed: 3}},
		func(int) simulate.Machine { return &simulate.Quiet{} })
	w := Local{World: world, Stores: func(string) (store.Store, error) { return simulate.Store{}, nil }}
	p, err := w.plan(a)
	if err != nil {
		t.Fatal(err)
	}
	p.wrap = func(s *source) engine.Source { return &noting{s, to} }
	p.reports.Second = each
	g, err := newGenerator(p)
	if err != nil {
		t.Fatal(err)
	}
	res, err := RunJob(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func drawnLoad(r *rand.Rand) scenario.Load {
	l := scenario.Load{
		Mix:         []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Local, Weight: 2}},
		Connections: 4 + r.IntN(12), KeySize: 8, ValueSize: 16, KeySpace: 1000,
		Distribution: scenario.Distribution{Name: []string{"uniform", "sequential", "zipfian"}[r.IntN(3)], Theta: 0.9},
		Timeout:      10 * time.Second, MaxInFlight: 100_000, Seed: r.Uint64(), Threads: 1 + r.IntN(3),
	}
	l.Clients = l.Connections + r.IntN(30)
	switch r.IntN(3) {
	case 0:
		l.Total = uint64(100 + r.IntN(3000))
	case 1:
		l.Arrival, l.Duration, l.Warmup = scenario.Constant, 1500*time.Millisecond, 300*time.Millisecond
	default:
		l.Arrival, l.Duration, l.Warmup = scenario.Poisson, 1500*time.Millisecond, 300*time.Millisecond
	}
	if l.Arrival != scenario.Closed {
		l.Rate.PerSecond = 200 + 1500*r.Float64()
	}
	return l
}

// Together, n shards send exactly the operations that a single worker sends. An operation's kind,
// key and due time depend only on its number. Clients and connections are divided among the shards,
// and the counts in the merged seconds are the sums of the shards' counts.
func TestShardsSendWhatOneWorkerSends(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 6))
	for range settle.RandomCases(20, 2) {
		l := drawnLoad(r)
		one, parts := newSent(), newSent()
		var seconds, merged counted
		whole := simulated(t, l, Shard{}, one, seconds.add)
		n := 2 + r.IntN(3)
		all := NewMerger(&Assignment{Load: l, Endpoints: []string{"m1", "m2", "m3"}}, n, merged.add, nil)
		due, connections := uint64(0), 0
		for i := range n {
			shard := Shard{i, n}
			mine := newSent()
			res := simulated(t, l, shard, mine, func(s *measure.Second) { all.Copy(i, s) })
			all.End(i)
			all.Merge(&res.Ending)
			due += res.Measured.Due
			connections += int(shard.share(uint64(l.Connections)))
			parts.add(mine)
			if l.Total > 0 && res.Measured.Due != shard.share(l.Total) {
				t.Errorf("shard %d of %d, total %d: %d operations were due", i, n, l.Total, res.Measured.Due)
			}
		}
		what := fmt.Sprintf("%v, %d connections, %d clients, total %d, %.0f/s in %d shards", l.Arrival, l.Connections, l.Clients, l.Total, l.Rate.PerSecond, n)
		if len(one.ops) != len(parts.ops) || parts.doubled+one.doubled > 0 || due != whole.Measured.Due || connections != l.Connections {
			t.Errorf("%s: the shards sent %d operations, want %d; %d were sent twice; due %d, want %d; %d connections", what, len(parts.ops), len(one.ops), parts.doubled, due, whole.Measured.Due, connections)
		}
		for name, op := range one.ops {
			if parts.ops[name] != op {
				t.Fatalf("%s: operation %s is %q, want %q", what, name, parts.ops[name], op)
			}
		}
		if l.Arrival == scenario.Closed && (len(parts.clients) != l.Clients || len(one.clients) != l.Clients) {
			t.Errorf("%s: a single worker has %d clients, and the shards together have %d", what, len(one.clients), len(parts.clients))
		}
		res, err := all.Result()
		if err != nil || res.Loops < n || res.Measured.Due != due || res.Measured.Succeeded() != whole.Measured.Succeeded() ||
			uint64(res.Measured.MergedCell().Response.TotalCount()) != due {
			t.Errorf("%s: %d loops, due %d, %v, %v", what, res.Loops, res.Measured.Due, res.Measured.Outcomes, err)
		}
		for _, r := range []*Result{whole, res} {
			checkClients(t, what, &l, r.Measured)
		}
		if l.Arrival != scenario.Closed && !slices.Equal(seconds.due, merged.due) {
			t.Errorf("%s: the seconds of a single worker have %v due, and the merged seconds have %v", what, seconds.due, merged.due)
		}
	}
}

// counted holds, for each second, a text with the number of operations that were due and the number
// of connections.
type counted struct{ due []string }

func (c *counted) add(s *measure.Second) {
	c.due = append(c.due, fmt.Sprintf("%v %d: %d on %d connections", s.Phase, s.Index, s.Due, s.Connections))
}

func newSent() *sent { return &sent{ops: map[string]string{}, clients: map[uint32]bool{}} }

func (s *sent) add(o *sent) {
	for name, op := range o.ops {
		if _, ok := s.ops[name]; ok {
			s.doubled++
		}
		s.ops[name] = op
	}
	s.doubled += o.doubled
	for client := range o.clients {
		s.clients[client] = true
	}
}

// With constant arrivals, shards take turns. If the connections can be divided evenly, shard i
// sends the operations i, i+n, i+2n, … of the schedule.
func TestShardsInterleave(t *testing.T) {
	l := drawnLoad(rand.New(rand.NewPCG(1, 1)))
	l.Arrival, l.Total, l.Warmup, l.Duration, l.Rate.PerSecond = scenario.Constant, 0, 0, time.Second, 600
	l.Connections, l.Threads = 12, 2
	for i := range 3 {
		mine := newSent()
		simulated(t, l, Shard{i, 3}, mine, nil)
		for n := range uint64(600) {
			if _, ok := mine.ops[fmt.Sprintf("measured %d", n)]; ok != (n%3 == uint64(i)) {
				t.Fatalf("operation %d belongs to shard %d: %v", n, i, ok)
			}
		}
	}
}

// However a load is divided, each connection, each client, each operation number and each unit of
// the in-flight limit belongs to exactly one shard.
func TestShardsPartitionALoad(t *testing.T) {
	for n := 1; n < 9; n++ {
		for _, total := range []uint64{0, 1, 7, 8, 9, 1000, 1<<40 + 3} {
			sum := uint64(0)
			for i := range n {
				sum += Shard{i, n}.share(total)
			}
			if sum != total {
				t.Errorf("the shares of %d in %d shards add up to %d", total, n, sum)
			}
		}
		var clients []int
		for i := range n {
			loops := 1 + i%3
			for k := range loops {
				first, stride := Shard{i, n}.loop(k, loops)
				own := loopEndpoints([]string{"a", "b", "c"}, 20, first, stride)
				for _, place := range clientConnections(50, 20, first, stride) {
					clients = append(clients, first+place*stride)
					if place >= len(own) {
						t.Fatalf("a client of loop %d of shard %d of %d has no connection", k, i, n)
					}
				}
			}
		}
		slices.Sort(clients)
		var want []int
		for j := range 50 {
			want = append(want, j%20)
		}
		slices.Sort(want)
		if !slices.Equal(clients, want) {
			t.Errorf("%d shards: the clients' connections are %v", n, clients)
		}
	}
	a := &Assignment{}
	if got := a.Divide(1, 2).Divide(2, 3).Shard; got != (Shard{5, 6}) {
		t.Errorf("the third third of the second half is %v", got)
	}
}

// A part that does not exist is refused with an error that consists of one sentence.
func TestPartsThatDoNotExist(t *testing.T) {
	a := &Assignment{Load: drawnLoad(rand.New(rand.NewPCG(1, 1)))}
	for shard, want := range map[Shard]string{
		{0, 0}: "", {0, 1}: "",
		{1, 0}:  "part 1 does not exist in a load that is not divided; its only part is part 0",
		{2, 1}:  "part 2 does not exist in a load that is not divided; its only part is part 0",
		{-1, 0}: "part -1 does not exist in a load that is not divided; its only part is part 0",
		{4, 4}:  "part 4 does not exist in a load that is divided into 4 parts; its parts are numbered from 0 to 3",
		{0, -3}: "a load cannot be divided into -3 parts; the number of parts must not be negative",
		{7, -3}: "a load cannot be divided into -3 parts; the number of parts must not be negative",
	} {
		a.Shard = shard
		if err := a.checkShard(); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%v: %v", shard, err)
		}
	}
}

// A load that cannot be divided is refused with an error that consists of one sentence.
func TestIndivisibleLoadsAreInvalid(t *testing.T) {
	for want, change := range map[string]func(*scenario.Load){
		"3 connections cannot":       func(l *scenario.Load) { l.Connections = 3 },
		"2 clients cannot":           func(l *scenario.Load) { l.Clients = 2 },
		"a total of 3 operations":    func(l *scenario.Load) { l.Total = 3 },
		"a limit of 3 operations":    func(l *scenario.Load) { l.Arrival, l.Total, l.MaxInFlight = scenario.Constant, 0, 3 },
		"watchers cannot":            func(l *scenario.Load) { l.Watch = &scenario.Watch{Watchers: 1, Streams: 1} },
		"compare-and-set cannot":     func(l *scenario.Load) { l.Mix[0].Kind = kv.CAS },
		"transactions with a lock":   func(l *scenario.Load) { l.Mix[0].Kind, l.STM = kv.STM, &scenario.STM{Locker: kv.LockRPC} },
		"part 4 does not exist in a": nil,
	} {
		l := drawnLoad(rand.New(rand.NewPCG(1, 1)))
		l.Arrival, l.Duration, l.Total, l.Clients = scenario.Closed, 0, 1000, 100
		a := &Assignment{Load: l, Shard: Shard{1, 4}}
		if change == nil {
			a.Shard.I = 4
		} else {
			change(&a.Load)
		}
		if err := a.checkShard(); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want an error of one sentence that begins with %q: %v", want, err)
		}
		if a.Shard = (Shard{}); a.checkShard() != nil {
			t.Errorf("%q: the load is refused although it is not divided: %v", want, a.checkShard())
		}
	}
}

// checkClients checks the clients in a result. Each client must be listed once, together with the
// other clients on its connection, and at the connection's endpoint. The completed operations of
// all clients must add up to the total. An open loop has no clients.
func checkClients(t *testing.T, what string, l *scenario.Load, m *measure.Totals) {
	t.Helper()
	clients, want := map[string][]int{}, map[string][]int{}
	completed := uint64(0)
	for _, c := range m.Connections {
		clients[c.Endpoint] = append(clients[c.Endpoint], len(c.Completed))
		for _, n := range c.Completed {
			completed += n
		}
	}
	if l.Arrival == scenario.Closed {
		for k := range l.Connections {
			endpoint := []string{"m1", "m2", "m3"}[k%3]
			want[endpoint] = append(want[endpoint], (l.Clients-k+l.Connections-1)/l.Connections)
		}
		if completed != m.Succeeded() {
			t.Errorf("%s: the clients completed %d operations of %d", what, completed, m.Succeeded())
		}
	}
	for _, all := range []map[string][]int{clients, want} {
		for _, counts := range all {
			slices.Sort(counts)
		}
	}
	if !reflect.DeepEqual(clients, want) {
		t.Errorf("%s: the clients by connection and endpoint are %v, want %v", what, clients, want)
	}
}
