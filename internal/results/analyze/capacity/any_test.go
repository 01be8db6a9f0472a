package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// anyone is a store with random trial results. Some results contradict each other, some have only a
// single second or no due operations, and some trials are void.
type anyone struct {
	rng         *rand.Rand
	capacity    float64
	slope       float64
	void        float64 // probability that a trial is void
	contradicts bool
	empty       float64 // probability that no operation is due in a second
	cutShort    bool    // set if trials lack some of their seconds
}

func pick(rng *rand.Rand, all ...float64) float64 { return all[rng.IntN(len(all))] }

func newAnyone(rng *rand.Rand) *anyone {
	a := &anyone{rng: rng, capacity: math.Exp(rng.Float64()*14 - 1), slope: pick(rng, 1, 5, 50, 1000)}
	switch rng.IntN(6) {
	case 0:
		a.contradicts = true
	case 1:
		a.cutShort = true
	case 2:
		a.empty = 0.3
	case 3:
		a.void = 0.3
	case 4:
		a.void = pick(rng, 0, 1)
	}
	return a
}

func (a *anyone) run(s *Search, p Plan, began float64) Trial {
	rng, offered := a.rng, p.Rate
	if s.Parameter != nil {
		offered = s.Parameter.DueRate(p.Rate)
	}
	t := Trial{Plan: p, StartTime: began + p.Warmup, Length: p.Window}
	share := odds(-4 + a.slope*math.Log(p.Rate/a.capacity))
	if a.contradicts {
		share = rng.Float64()
	}
	seconds := int(math.Ceil(p.Window))
	if a.cutShort {
		seconds = 1 + rng.IntN(seconds)
	}
	overloaded, waiting := p.Rate > a.capacity && rng.IntN(2) == 0, 0.0
	for range seconds {
		one := Second{Due: math.Floor(offered * (0.8 + 0.4*rng.Float64()))}
		if rng.Float64() < a.empty {
			one.Due = 0
		}
		for range s.Goals {
			one.Bad = append(one.Bad, math.Min(one.Due, math.Floor(one.Due*share*(0.5+rng.Float64())+rng.Float64()*share)))
		}
		if waiting += 0.2 * one.Due; !overloaded {
			waiting = math.Floor(0.02 * rng.Float64() * one.Due)
		}
		one.InFlight = waiting
		t.Due += one.Due
		t.Seconds = append(t.Seconds, one)
	}
	if t.Done = t.Due; overloaded {
		t.Done -= waiting
	}
	if t.Served = t.Done; t.Due == 0 || rng.Float64() < a.void {
		t.VoidReason = "its result is unusable"
	}
	return t
}

// anyOptions returns random options for searches for rates and for parameters, with random goals.
func anyOptions(rng *rand.Rand) Options {
	o := Options{TimeLimit: pick(rng, 40, 120), InitialRate: pick(rng, 1, 10, 100), MinRate: pick(rng, 1, 10), MaxRate: pick(rng, 100, 1e6), Overhead: pick(rng, 0, 0.5, 10), Width: pick(rng, 0, 0.1, 0.5)}
	o.InitialRate = math.Max(o.InitialRate, o.MinRate)
	for range 1 + rng.IntN(3) {
		o.Goals = append(o.Goals, Goal{Limit: pick(rng, 1e-6, 0.001, 0.01, 0.1, 0.5, 0.95), Span: pick(rng, 1e-6, 0.001, 0.02, 0.1, 1, 10)})
	}
	if rng.IntN(3) == 0 {
		each := pick(rng, 0.1, 1, 100)
		o.Parameter = &Parameter{Integer: rng.IntN(2) == 0, DueRate: func(v float64) float64 { return each * v }, MinWindow: pick(rng, 1, 5, 30), FreshCluster: rng.IntN(2) == 0}
	}
	return o
}

// For any trial results, each planned rate is a number within the permitted range, and the final
// interval contains its estimate.
func TestAnyTrialsAreSearched(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 532))
		s, a, now := New(anyOptions(rng)), newAnyone(rng), 0.0
		for range 40 {
			p, more := s.Next(now)
			if !more {
				break
			}
			if !(p.Rate >= s.MinRate && p.Rate <= s.MaxRate) || !(p.Window > 0) || p.Warmup < 0 {
				t.Fatalf("seed %d: after %d trials and with rates limited to %g to %g, the search plans %+v", seed, len(s.Trials), s.MinRate, s.MaxRate, p)
			}
			takes := p.Warmup + p.Window + s.Overhead
			s.Add(a.run(s, p, now), takes)
			now += takes
		}
		r := s.Result()
		if !(r.Lower >= 0 && r.Lower <= r.Upper) || math.IsNaN(r.Estimate) || r.Closed() && (r.Estimate < r.Lower || r.Estimate > r.Upper) {
			t.Errorf("seed %d: the result of %d trials is %+v", seed, len(s.Trials), r)
		}
	}
}

// planNear never plans a rate outside the permitted range, even if the estimate is at the edge of
// the range or outside it. For example, it never plans a value below a parameter's minimum.
func TestTriesOnlyValuesWithinBounds(t *testing.T) {
	for _, whole := range []bool{false, true} {
		s := New(Options{Goals: []Goal{{Limit: 0.01, Span: 1}}, TimeLimit: 600, InitialRate: 10, MinRate: 10, MaxRate: 11, Parameter: &Parameter{Integer: whole, DueRate: func(v float64) float64 { return v }}})
		for _, estimate := range []float64{8.2, 9.9, 10, 10.4, 11, 12.3} {
			for _, offset := range []float64{-3, -0.05, 0, 0.05, 3} {
				if p := s.planNear(estimate, offset, Refine, 6); p.Rate < 10 || p.Rate > 11 {
					t.Errorf("whole %v: with the offset %g from the estimate %g, planNear plans %g, want 10 to 11", whole, offset, estimate, p.Rate)
				}
			}
		}
	}
}
