package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The error text for operations that were not sent includes the reason why the connection was
// refused.
func TestNotSentHasTheReason(t *testing.T) {
	settle.SkipUnderRace(t)
	const text = "no connection was free before the operation's timeout or the end of the measurement window"
	for _, refused := range []bool{true, false} {
		b := newBench(2, 20, closed(6*secondNS))
		b.cfg.Timeout = secondNS
		b.dial = func(s *sim, conn int, _ string) error {
			if refused && conn == 0 && s.now > 3e9 && s.now < 5e9 {
				return errRefused
			}
			return nil
		}
		cut := false
		b.at = func(s *sim) {
			if s.now >= 3e9 && !cut {
				cut = true
				s.cut(0)
			}
		}
		b.run(t)
		want := ""
		if refused {
			want = text + ": " + errRefused.Error()
		}
		if got := b.res.ErrorTexts[kv.NotSent]; got != want {
			t.Errorf("refused %v: the text is %q, want %q", refused, got, want)
		}
	}
}

// mixed is a Source of puts and gets.
type mixed struct {
	puts
	share float64 // fraction of puts; 1: only puts
}

func (m *mixed) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	if keys.RandomUnit(3, n) < m.share {
		return kv.Put, kv.NoConsistency
	}
	return kv.Get, kv.Local
}

func (m *mixed) Shares(measure.Phase) []Share {
	if m.share == 1 {
		return []Share{{Kind: kv.Put, Fraction: 1}}
	}
	return []Share{{Kind: kv.Put, Fraction: m.share}, {Kind: kv.Get, Consistency: kv.Local, Fraction: 1 - m.share}}
}

// collectingLoop collects the seconds that its loop hands over.
type collectingLoop struct {
	*Loop
	seconds []*measure.Second
}

// laggingLoop returns loop i of n loops. Its schedule is behind its clock: the schedule has reached
// operation `first` of the first phase, and the clock is already in the last phase.
func laggingLoop(source Source, i, n, places int, first uint64, phases ...Phase) *collectingLoop {
	h := &collectingLoop{}
	l := New(Config{
		Deliver: func(s *measure.Second) { h.seconds = append(h.seconds, s) },
		Source:  source, Offset: uint64(i), Stride: uint64(n), Places: places, Endpoints: make([]string, 1),
		Phases: phases, Shared: NewShared(n, 0, 1),
	}, newSim(1))
	l.clock = clockwork{phases: phases, phaseIndex: len(phases) - 1}
	origin := int64(1_234_567_890)
	l.clock.origin = origin
	for _, p := range phases {
		l.clock.origin = origin
		for at, index := origin, 0; at < origin+p.Duration; at, index = at+secondNS, index+1 {
			l.secs.beginSecond(p.Kind, index, at)
		}
		origin += p.Duration
	}
	l.sched.pacer, l.sched.origin = phases[0].Pacer, 1_234_567_890
	l.sched.n, l.sched.place = l.sched.firstOwnFrom(first)
	l.sched.computeDue()
	h.Loop = l
	return h
}

// countOneByOne counts the same operations as abandonSchedule, but one at a time.
func countOneByOne(l *collectingLoop, at int64) {
	for l.sched.due < at {
		kind, level := l.cfg.Source.Kind(l.clock.phases[l.sched.phase].Kind, l.sched.n)
		acc := l.sched.dueSecond(&l.secs)
		acc.Due++
		acc.Outcomes[kv.NotSent]++
		l.secs.recordFailure(acc, &measure.Series{Kind: kind, Consistency: level}, kv.NotSent, at-l.sched.due)
		l.sched.step()
	}
}

// abandonSchedule counts operations in bulk. The result must be the same as when operations are
// counted one by one: in every second, for every kind, in every step of the histogram.
func TestBulkCountEqualsCountingOneByOne(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		n := 1 + rng.IntN(4)
		i, places := rng.IntN(n), n+rng.IntN(9)
		rate := []float64{1, 7.3, 999, 1000, 123_456, 1e6}[rng.IntN(6)]
		length := int64(1 + rng.Int64N(3*secondNS))
		if rate > 1e5 {
			length /= 50
		}
		source := &mixed{share: []float64{1, 0.3}[rng.IntN(2)]}
		phases := func() (out []Phase) {
			for k, kind := range []measure.Phase{measure.Warmup, measure.Measured}[rng.IntN(2):] {
				p := Phase{Kind: kind, Duration: length, Pacer: pace.NewConstant(rate)}
				if round%3 == 0 {
					p.Pacer = pace.NewPoisson(rate, uint64(round+k))
				}
				if round%5 == 0 {
					p.Total = 1 + uint64(rate*float64(length)/2e9)
				}
				out = append(out, p)
			}
			return out
		}
		first := rng.Uint64N(20)
		seed := rng.Uint64()
		make := func() *collectingLoop {
			rng = rand.New(rand.NewPCG(seed, 0))
			return laggingLoop(source, i, n, places, first, phases()...)
		}
		bulk, single := make(), make()
		rng = rand.New(rand.NewPCG(seed, 1))
		open := bulk.clock.origin - 1_234_567_890 + length
		at := 1_234_567_890 + []int64{open, 1 + rng.Int64N(open), open + 5*secondNS}[rng.IntN(3)]
		if got, want := bulk.sched.backlog(at), backlogOneByOne(make(), at); got != want {
			t.Fatalf("round %d: the backlog is %d, want %d, as counted one by one", round, got, want)
		}
		bulk.abandonSchedule(at)
		countOneByOne(single, at)
		bulk.secs.release(never)
		single.secs.release(never)
		same := len(bulk.seconds) == len(single.seconds)
		for k := 0; same && k < len(bulk.seconds); k++ {
			a, b := bulk.seconds[k], single.seconds[k]
			same = a.Due == b.Due && a.Outcomes == b.Outcomes && len(a.Cells) == len(b.Cells)
			for _, cell := range b.Cells {
				at := slices.IndexFunc(a.Cells, func(other *measure.Cell) bool { return other.Series == cell.Series })
				if same = same && at >= 0; !same {
					break
				}
				x, y := a.Cells[at].Failed[measure.ErrorIndex(kv.NotSent)], cell.Failed[measure.ErrorIndex(kv.NotSent)]
				same = same && x != nil && x.Equals(y)
			}
		}
		if !same {
			t.Fatalf("round %d: loop %d of %d with %d places at %v/s for %d ns: the bulk count differs from the count one by one", round, i, n, places, rate, length)
		}
	}
}

// backlogOneByOne counts the operations in the backlog one at a time.
func backlogOneByOne(l *collectingLoop, at int64) (count uint64) {
	for phase := l.sched.phase; l.sched.due < at && l.sched.phase == phase; l.sched.step() {
		count++
	}
	return count
}

// The time to count a backlog does not depend on the size of the backlog, and no operation is lost.
func TestCountsAnyBacklogAtOnce(t *testing.T) {
	settle.SkipUnderRace(t)
	const length = 20 * secondNS
	for name, pacer := range map[string]pace.Pacer{"constant": pace.NewConstant(1e9), "Poisson": pace.NewPoisson(1e9, 1)} {
		for _, share := range []float64{1, 0.25} {
			for _, total := range []uint64{0, 20_000_000_000} {
				const loops = 3
				var due, puts uint64
				for i := range loops {
					l := laggingLoop(&mixed{share: share}, i, loops, 10, 0, Phase{Kind: measure.Measured, Duration: length, Pacer: pacer, Total: total})
					l.abandonSchedule(1_234_567_890 + length)
					for _, s := range l.seconds {
						due += s.Due
						for _, c := range s.Cells {
							if c.Kind == kv.Put {
								puts += uint64(c.Failed[measure.ErrorIndex(kv.NotSent)].TotalCount())
							}
						}
					}
				}
				if (name == "constant" || total > 0) && due != 20_000_000_000 {
					t.Errorf("%s, total %d: %d of 20000000000 operations are counted", name, total, due)
				}
				near(t, name+": operations due", float64(due), 2e10, 0.002)
				near(t, name+": puts", float64(puts), share*2e10, 0.002)
			}
		}
	}
}

// A load far above the store's capacity closes its window in time, and counting the backlog does
// not delay the operations in flight.
func TestOverloadEndsInTime(t *testing.T) {
	settle.SkipUnderRace(t)
	b := newBench(2, 0, warm(open(1e9, secondNS)), open(1e9, 2*secondNS))
	b.cfg.MaxInFlight = 100
	b.cfg.Source = &mixed{share: 1}
	b.serve = func(s *sim, conn int, request []byte) { s.reply(conn, 10*millisecond, reply(request, kv.OK)) }
	b.run(t)
	near(t, "operations due", float64(b.totals.Due), 2e9, 1e-9)
	near(t, "operations carried into the window", float64(b.res.InFlightAtStart), 1e9, 0.001)
	if succeeded := b.totals.Succeeded(); succeeded != b.totals.Due-b.totals.Outcomes[kv.NotSent] {
		t.Errorf("%d operations succeeded of %d that were due, and %d were not sent", succeeded, b.totals.Due, b.totals.Outcomes[kv.NotSent])
	}
	if b.res.WaitedForLimit != b.totals.Due {
		t.Errorf("the limit delayed %d of %d operations, want all", b.res.WaitedForLimit, b.totals.Due)
	}
}

// countedShares counts the calls of Shares.
type countedShares struct {
	mixed
	asked int
}

func (c *countedShares) Shares(p measure.Phase) []Share {
	c.asked++
	return c.mixed.Shares(p)
}

// The loop calls Shares only once, because a source may have to count millions of operations.
func TestSharesAreRequestedOnce(t *testing.T) {
	const rate, length = 1000, 5 * secondNS
	source := &countedShares{mixed: mixed{share: 0.3}}
	l := laggingLoop(source, 0, 1, 1, 0, open(rate, length))
	l.abandonSchedule(l.clock.origin + length)
	if source.asked != 1 || l.ended.failed != 5*rate {
		t.Errorf("%d operations were not sent, and Shares was called %d times, want once", l.ended.failed, source.asked)
	}
}
