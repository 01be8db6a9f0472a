package calibrate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// late is a poller with a simulated clock. The function `by` returns how much later than requested
// each wait ends. Some waits also end too early.
type late struct {
	poll.Poller
	now      int64
	by       func() int64
	rng      *rand.Rand
	lateness []int64 // delays with which the waits ended
}

func (p *late) Now() int64 { return p.now }

func (p *late) Wait(until int64, ready []poll.Ready) []poll.Ready {
	if p.rng.IntN(5) == 0 {
		p.now += (until - p.now) / 2 // a signal ends the wait early
		return ready
	}
	by := p.by()
	p.lateness = append(p.lateness, by)
	p.now = until + by
	return ready
}

// Wakes reports the percentiles of the delays in each round.
func TestWakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &late{rng: rng, by: func() int64 { return rng.Int64N(100_000) }}
	w, err := measureWakeups(t.Context(), p, 3)
	if err != nil {
		t.Fatal(err)
	}
	var p50, p99 []float64
	for round := range slices.Chunk(p.lateness, waitsPerRound) {
		slices.Sort(round)
		p50, p99 = append(p50, float64(round[499])), append(p99, float64(round[989]))
	}
	slices.Sort(p50)
	slices.Sort(p99)
	if w.Count != 3*waitsPerRound || w.P50NS.Lowest != p50[0] || w.P50NS.Median != p50[1] || w.P50NS.Highest != p50[2] || w.P99NS.Median != p99[1] {
		t.Errorf("the percentiles of %+v and %+v over %d waits are wrong, want p50 %v and p99 %v", w.P50NS, w.P99NS, w.Count, p50, p99)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measureWakeups(ctx, p, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("the error after a cancellation is %v", err)
	}
}

// The lengths of the waits are spread evenly between the two limits.
func TestWaitsAreSpread(t *testing.T) {
	var counts [10]int
	for i := range waitsPerRound {
		w := waitLength(i)
		if w < shortestWait || w >= longestWait {
			t.Fatalf("wait %d lasts %d ns, which is outside the limits", i, w)
		}
		counts[10*(w-shortestWait)/(longestWait-shortestWait)]++
	}
	for i, n := range counts {
		if n < 95 || n > 105 {
			t.Errorf("interval %d of ten contains %d of the %d waits", i+1, n, waitsPerRound)
		}
	}
}

// The real poller never wakes up too early.
func TestWakesOfThisMachine(t *testing.T) {
	w, err := MeasureWakeups(t.Context(), 1)
	if err != nil || w.Count != waitsPerRound || w.P50NS == nil || w.P50NS.Median <= 0 || w.P99NS.Median < w.P50NS.Median {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestRoundTrips(t *testing.T) {
	next, cost := 0, time.Duration(0)
	connect := func(context.Context) (time.Duration, error) {
		next++
		return cost + time.Duration(next), nil
	}
	r, err := roundTrip(t.Context(), "x", 3, connect)
	if err != nil || r.Address != "x" || r.Count != 3*maxConnections || r.LowestNS != 1 || r.P50NS.Lowest != 10 || r.P50NS.Median != 30 || r.P50NS.Highest != 50 {
		t.Errorf("%+v %+v, %v", r, r.P50NS, err)
	}
	next, cost = 0, time.Minute // each round makes at least one connection, even if this takes longer than its share of the time
	if r, err = roundTrip(t.Context(), "x", 3, connect); err != nil || r.Count != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	broken := errors.New("refused")
	if _, err = roundTrip(t.Context(), "x", 3, func(context.Context) (time.Duration, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestLoopback(t *testing.T) {
	r, err := MeasureLoopback(t.Context(), 2)
	if err != nil || r.Address != "loopback" || r.Count < 2 || r.LowestNS <= 0 || r.P50NS.Lowest < r.LowestNS {
		t.Errorf("%+v, %v", r, err)
	}
}
