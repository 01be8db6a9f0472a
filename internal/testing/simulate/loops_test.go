package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
)

// shape is a load whose results must not depend on the number of event loops.
type shape struct {
	load     scenario.Load
	inFlight int // operations in flight per connection; 0 for no limit
	server   func() simulate.Server
	members  int
}

func (s shape) String() string {
	l := &s.load
	return fmt.Sprintf("%v, %d connections, %d clients, total %d, %.0f/s, at most %d in flight, %d a connection, %d members",
		l.Arrival, l.Connections, l.Clients, l.Total, l.Rate.PerSecond, l.MaxInFlight, s.inFlight, s.members)
}

func (s shape) run(t *testing.T, loops int) *measure.Totals {
	t.Helper()
	l := s.load
	l.Threads = loops
	a := load.Assignment{Load: l}
	r, err := runIn(simulate.New(a.Loops(), 20_000, s.server(), quiet(1)), simulate.Store{InFlight: s.inFlight}, l, []string{"m1", "m2", "m3"}[:s.members]...)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Measured
	timed := uint64(0)
	for _, c := range m.Cells {
		for _, h := range append(c.Failed[:], c.Response) {
			if h != nil {
				timed += uint64(h.TotalCount())
			}
		}
	}
	if m.Due != m.Succeeded()+m.Failed() || timed != m.Due {
		t.Errorf("%v, %d loops: %d operations were due, %d completed, %d failed, and %d were timed", s, loops, m.Due, m.Succeeded(), m.Failed(), timed)
	}
	return m
}

// drawn returns a load with random connections, clients, totals, arrivals and limits.
func drawn(r *rand.Rand) shape {
	l := closed(1+r.IntN(12), 0, 0)
	l.Clients = l.Connections + r.IntN(50)
	s := shape{members: 1 + r.IntN(3), server: func() simulate.Server {
		return &simulate.Delaying{Times: simulate.ResponseTimes{Median: 2e6, Spread: 0.1, Seed: 3}}
	}}
	if r.IntN(3) == 0 {
		s.inFlight = 1
	}
	most := float64(l.Clients) / 2.05e-3 // operations per second that the clients or the connections allow
	if s.inFlight == 1 {
		most = float64(l.Connections) / 2.05e-3
	}
	switch r.IntN(4) {
	case 0:
		l.Duration = 2 * time.Second
	case 1, 2: // enough operations for several rounds of all clients, plus a random number
		l.Total = uint64(most*(1+r.Float64())) + uint64(r.IntN(100))
	default:
		l.Arrival, l.Duration = scenario.Constant, 2*time.Second
		if r.IntN(2) == 0 {
			l.Arrival = scenario.Poisson
		}
		l.Rate.PerSecond = most * (0.1 + 0.7*r.Float64())
		if r.IntN(3) == 0 { // a rate above the limit
			l.MaxInFlight = 1 + int(l.Rate.PerSecond*2.05e-3*(0.5+0.3*r.Float64()))
		} else if s.inFlight == 1 && r.IntN(2) == 0 {
			l.Rate.PerSecond = 1.2 * most
		}
	}
	s.load = l
	return s
}

// Throughput, operations in flight and counts do not depend on the number of event loops that drive
// a load.
func TestNumberOfLoopsChangesNothing(t *testing.T) {
	r, cases := rand.New(rand.NewPCG(8, 8)), settle.RandomCases(8, 1)
	if settle.Long() {
		cases = 24
	}
	for range cases {
		s := drawn(r)
		one := s.run(t, 1)
		for _, loops := range []int{2, 4, 8} {
			if loops > s.load.Connections {
				continue
			}
			m := s.run(t, loops)
			checkSame(t, s, loops, "operations per second", float64(m.Done)/m.Seconds, float64(one.Done)/one.Seconds, 0)
			checkSame(t, s, loops, "operations in flight", m.MeanInFlight, one.MeanInFlight, 0.1)
			if s.load.Arrival != scenario.Closed || s.load.Total > 0 {
				checkSame(t, s, loops, "operations due", float64(m.Due), float64(one.Due), 0)
			}
			checkSame(t, s, loops, "errors", float64(m.Failed()), float64(one.Failed()), 3)
			checkSame(t, s, loops, "operations that waited for the limit", float64(m.WaitedForLimit), float64(one.WaitedForLimit), 0.01*float64(one.Due))
			checkSame(t, s, loops, "operations that waited for a connection", float64(m.WaitedForConnection), float64(one.WaitedForConnection), 0.05*float64(one.Due))
			if s.load.Total > 0 && m.Due != s.load.Total {
				t.Errorf("%v, %d loops: %d operations were due", s, loops, m.Due)
			}
		}
	}
}

func checkSame(t *testing.T, s shape, loops int, what string, got, want, slack float64) {
	t.Helper()
	if math.Abs(got-want) > 0.01*want+slack {
		t.Errorf("%v\nwith %d loops, %s: %.2f; with one loop: %.2f", s, loops, what, got, want)
	}
}

// If one loop has two connections and another has three, they share a total number of operations in
// the same way as one loop with five connections.
func TestUnequalLoopsShareATotal(t *testing.T) {
	settle.SkipUnderRace(t)
	l := closed(5, 50, 0)
	l.Warmup, l.Total = 0, 30_000
	s := shape{load: l, members: 1, server: func() simulate.Server {
		return &simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6}}
	}}
	for _, loops := range []int{1, 2, 4} {
		m := s.run(t, loops)
		if m.Due != 30_000 || m.Succeeded() != 30_000 {
			t.Errorf("%d loops: %d operations were due, and %d succeeded", loops, m.Due, m.Succeeded())
		}
		near(t, "clients at work", m.MeanInFlight, 50, 0.01)
	}
}

// If a member accepts no connection, the other members receive its share of an open loop, even if
// one loop has all connections to that member.
func TestOtherConnectionsTakeOver(t *testing.T) {
	for _, loops := range []int{1, 3} {
		l := closed(3, 0, 4*time.Second)
		l.Arrival, l.Rate.PerSecond, l.Clients = scenario.Constant, 300, 0
		s := shape{load: l, members: 3}
		world := leaving{&simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6}}}
		s.server = func() simulate.Server { return world }
		l.Threads = loops
		w := simulate.New(loops, 20_000, world, quiet(1))
		w.CloseConnections(3e9, "m1")
		r, err := runIn(w, simulate.Store{}, l, "m1", "m2", "m3")
		if err != nil {
			t.Fatal(err)
		}
		m := r.Measured
		if m.Due != 1200 || m.Outcomes[kv.OK] < 1199 {
			t.Errorf("%d loops: %d operations were due with the outcomes %v, so the other loops did not take over the work", loops, m.Due, m.Outcomes)
		}
		if p99 := m.MergedCell().Response.ValueAtQuantile(99); p99 > 2*1.04e6 {
			t.Errorf("%d loops: p99 is %d ns", loops, p99)
		}
	}
}

// leaving refuses connections to m1 after the existing connections to m1 were closed.
type leaving struct{ simulate.Server }

func (leaving) Dial(at int64, endpoint string) error {
	if endpoint == "m1" && at >= 3e9 {
		return fmt.Errorf("%s is gone", endpoint)
	}
	return nil
}

// closing refuses all operations immediately during one second, when the simulated clock is between
// 6 s and 7 s.
type closing struct{ simulate.Server }

func (c closing) Serve(at int64, endpoint string, r simulate.Request) (int64, kv.Outcome) {
	if at >= 6e9 && at < 7e9 {
		return at, kv.Refused
	}
	return c.Server.Serve(at, endpoint, r)
}

// If a store refuses operations in one of ten seconds, a tenth of the operations fail, no matter
// how many loops drive the load. A client whose operation was refused rests without an operation in
// flight.
func TestRefusedClientsRestInAllLoops(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, loops := range []int{1, 2, 4} {
		l := closed(5, 50, 10*time.Second)
		s := shape{load: l, members: 1, server: func() simulate.Server {
			return closing{&simulate.Delaying{Times: simulate.ResponseTimes{Median: 2e6}}}
		}}
		m := s.run(t, loops)
		near(t, "the share of errors", float64(m.Failed())/float64(m.Due), 0.1, 0.05)
		near(t, "clients that rest", m.MeanResting, 5, 0.05)
		near(t, "clients that rest or have an operation", m.MeanResting+m.MeanInFlight, 50, 0.01)
	}
}
