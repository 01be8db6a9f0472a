package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// refuseBetween refuses requests at once from the time `from` to the time `to`. At other times it
// replies after a millisecond.
func refuseBetween(from, to int64) func(s *sim, conn int, request []byte) {
	return func(s *sim, conn int, request []byte) {
		if s.now >= from && s.now < to {
			s.reply(conn, s.wire, reply(request, kv.Refused))
			return
		}
		s.reply(conn, s.wire+millisecond, reply(request, kv.OK))
	}
}

// If a store refuses all operations during one second in ten, a tenth of the operations are errors.
// The reason is that a client that is refused within 20 µs rests for as long as a successful
// operation would have taken.
func TestRefusedClientsRest(t *testing.T) {
	settle.SkipUnderRace(t)
	b := newBench(4, 20, warm(closed(secondNS)), closed(10*secondNS))
	b.serve = refuseBetween(7e9, 8e9)
	b.run(t)
	near(t, "the share of errors", float64(b.totals.Failed())/float64(b.totals.Due), 0.1, 0.03)
	window := float64(b.res.WindowEnd - b.res.WindowStart)
	near(t, "clients that rest", b.res.RestingArea/window, 20*0.1, 0.03)
	near(t, "clients that rest or have an operation", (b.res.RestingArea+b.res.InFlightArea)/window, 20, 0.001)
	if got := b.totals.Outcomes[kv.Refused]; got != b.totals.Failed() {
		t.Errorf("outcomes %v", b.totals.Outcomes)
	}
	mean := b.totals.MergedCell().Response.Mean()
	near(t, "mean response time", mean, 1.02e6, 0.001) // the mean does not include rests
	for _, s := range b.each {
		rests := s.Index == 4 && s.Phase == measure.Measured
		if (s.Resting > 0) != rests {
			t.Errorf("second %d: %d clients rest", s.Index, s.Resting)
		}
	}
}

// A client's next operation begins as soon as the client's rest has ended, even if the loop wakes
// up late. So no part of a client's time is counted twice.
func TestClientTimeIsCountedOnce(t *testing.T) {
	settle.SkipUnderRace(t)
	b := newBench(1, 1, warm(closed(secondNS)), closed(5*secondNS))
	n := 0
	b.serve = func(s *sim, conn int, request []byte) {
		outcome := kv.OK
		if n++; n%2 == 0 {
			outcome = kv.Refused
		}
		s.reply(conn, s.wire+80_000, reply(request, outcome))
	}
	b.lag = func(int64) int64 { return 60_000 }
	b.run(t)
	window := float64(b.res.WindowEnd - b.res.WindowStart)
	whole := b.totals.MergedCell()
	busy := whole.Response.Mean() * float64(whole.Response.TotalCount())
	for _, h := range whole.Failed {
		if h != nil {
			busy += h.Mean() * float64(h.TotalCount())
		}
	}
	near(t, "the share of time with an operation or a rest, from the times", (busy+b.res.RestingArea)/window, 1, 0.01)
	near(t, "the share of time with an operation or a rest, from the counts", (b.res.InFlightArea+b.res.RestingArea)/window, 1, 0.001)
}

// Until the first success, a refused client tries again a hundred times per second.
func TestRefusedClientsRestBeforeTheFirstSuccess(t *testing.T) {
	b := newBench(1, 10, closed(10*secondNS))
	b.serve = refuseBetween(0, 100e9)
	b.run(t)
	near(t, "operations of 10 clients", float64(b.totals.Due), 10*1000, 0.01)
}

// A load with a total completes, however often its clients are refused.
func TestTotalCompletesDespiteRests(t *testing.T) {
	p := closed(0)
	p.Total = 1000
	b := newBench(2, 10, p)
	n := 0
	b.serve = func(s *sim, conn int, request []byte) {
		outcome := kv.OK
		if n++; n%3 == 0 {
			outcome = kv.Refused
		}
		s.reply(conn, s.wire, reply(request, outcome))
	}
	b.run(t)
	if b.totals.Due != 1000 || b.totals.Outcomes[kv.Refused] != 333 {
		t.Errorf("due %d, outcomes %v", b.totals.Due, b.totals.Outcomes)
	}
}

func TestRestingWakesInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h resting
	for round := range 1000 {
		var want []int64
		for range r.IntN(50) {
			until := r.Int64N(20)
			h.push(sleeper{until, int32(until)})
			want = append(want, until)
		}
		slices.Sort(want)
		for _, until := range want {
			if got := h.pop(); got.wakeTime != until || got.client != int32(until) {
				t.Fatalf("round %d: the client %+v was popped, want wake time %d", round, got, until)
			}
		}
	}
}
