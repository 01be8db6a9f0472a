package simulate_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
)

func closed(conns, clients int, d time.Duration) scenario.Load {
	return scenario.Load{
		Mix:         []scenario.Operation{{Kind: kv.Put, Weight: 1}},
		Connections: conns, Clients: clients, Duration: d, Warmup: 200 * time.Millisecond,
		KeySize: 8, ValueSize: 16, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
		Timeout: 10 * time.Second, MaxInFlight: 100_000, Seed: 1,
	}
}

func run(t *testing.T, l scenario.Load, server simulate.Server, machine func(int) simulate.Machine) *measure.Totals {
	t.Helper()
	loops := max(l.Threads, 1)
	l.Threads = loops
	r, err := runIn(simulate.New(loops, 20_000, server, machine), simulate.Store{}, l, "m1")
	if err != nil {
		t.Fatal(err)
	}
	return r.Measured
}

// runIn runs a load in a simulated world.
func runIn(w *simulate.World, s simulate.Store, l scenario.Load, endpoints ...string) (*load.Result, error) {
	worker := load.Local{World: w, Stores: func(string) (store.Store, error) { return s, nil }}
	return load.Run(context.Background(), &worker, &load.Assignment{Load: l, Endpoints: endpoints}, load.Reports{})
}

func quiet(seed uint64) func(int) simulate.Machine {
	return func(i int) simulate.Machine { return &simulate.Quiet{Jitter: 5_000, Seed: seed + uint64(i)} }
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s is %v, want %v within %v %%", what, got, want, 100*tolerance)
	}
}

func TestServersHaveTheirTimes(t *testing.T) {
	settle.SkipUnderRace(t)
	delaying := func() simulate.Server {
		return &simulate.Delaying{Times: simulate.ResponseTimes{Median: 2e6, Spread: 0.2, Seed: 3}}
	}
	queueing := func() simulate.Server {
		return simulate.NewQueueing(4, simulate.ResponseTimes{Median: 1e6, Spread: 0.2, Seed: 3})
	}
	for _, loops := range []int{1, 2} {
		l := closed(10, 20, 5*time.Second)
		l.Threads = loops
		m := run(t, l, delaying(), quiet(1))
		near(t, "the throughput of 20 clients at 2.1 ms", float64(m.Done)/m.Seconds, 20/2.1e-3, 0.02)
		near(t, "the median", float64(m.MergedCell().Service.ValueAtQuantile(50)), 2.05e6, 0.02)
		m = run(t, l, queueing(), quiet(1))
		near(t, "the throughput of 4 workers at 1.02 ms", float64(m.Done)/m.Seconds, 4/1.02e-3, 0.02)
	}
}

func TestTrialsAreReproducible(t *testing.T) {
	one := func() *measure.Totals {
		l := closed(7, 21, 2*time.Second)
		l.Threads = 3
		return run(t, l, simulate.NewQueueing(4, simulate.ResponseTimes{Median: 1e6, Spread: 0.5, Seed: 3}), func(i int) simulate.Machine {
			return &simulate.Interrupted{Quiet: simulate.Quiet{Jitter: 5_000, Seed: uint64(i)}, Spans: simulate.RandomSpans(100e6, 10e6, uint64(i))}
		})
	}
	a, b := one(), one()
	if a.Due != b.Due || a.Done != b.Done || !a.MergedCell().Service.Equals(b.MergedCell().Service) {
		t.Errorf("two runs with the same seed differ: %d and %d operations were due, %d and %d completed", a.Due, b.Due, a.Done, b.Done)
	}
}

// refusing is a server that accepts no connections.
type refusing struct{ simulate.Server }

func (refusing) Dial(int64, string) error { return errors.New("no connection is accepted") }

// If a load cannot connect, it ends, even though its event loops wait in a simulated world that has
// not begun.
func TestRefusedLoadEnds(t *testing.T) {
	l := closed(3, 3, time.Second)
	l.Threads = 3
	w := simulate.New(3, 20_000, refusing{&simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6}}}, quiet(1))
	if _, err := runIn(w, simulate.Store{}, l, "m1"); err == nil || !strings.Contains(err.Error(), "no connection is accepted") {
		t.Errorf("the load ended with %v", err)
	}
}

// A machine's counters include the CPU time that the machine withholds from the thread.
func TestMachinesCountWithheldTime(t *testing.T) {
	for name, m := range map[string]simulate.Machine{
		"interrupted": &simulate.Interrupted{Spans: simulate.RandomSpans(1e9, 1e8, 1), Steal: true},
		"shared":      &simulate.Shared{Slice: 3e6, Other: 3e6, Busy: func(int64) bool { return true }},
		"throttled":   &simulate.Throttled{Quota: 50e6, Period: 100e6},
	} {
		at := int64(1e9)
		for range 10_000 {
			at = m.Run(at, 1e6)
		}
		u := m.Used()
		lost := u.RunDelay + u.Stolen
		if u.CPU != 10_000*1e6 || math.Abs(float64(at-1e9-u.CPU-lost)) > 2e8 {
			t.Errorf("%s: in %d ns, the thread ran for %d ns, waited for %d ns, and lost %d ns to steal time", name, at-1e9, u.CPU, u.RunDelay, u.Stolen)
		}
		if share := float64(lost) / float64(at-1e9); name != "interrupted" && math.Abs(share-0.5) > 0.01 {
			t.Errorf("%s: the machine took away %v of the time", name, share)
		}
	}
}
