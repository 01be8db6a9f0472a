package capacity

import (
	"math"
	"testing"
)

// The best estimate is not above the rate of a trial that missed the objective, even if the
// evidence is too weak to count this rate as failed. The interval does not extend above the rate of
// an overloaded trial. The lower bound is a rate that held.
func TestEstimateIsNotAboveARateThatMissedTheObjective(t *testing.T) {
	s := New(Options{Goals: []Goal{{Name: "p99<50ms", Limit: 0.01, Span: 0.05, Percentile: true}}, TimeLimit: 25, InitialRate: 1600, MinRate: 10, MaxRate: 1e6})
	tried := func(rate, share, served float64) Result {
		one := Trial{Plan: Plan{Rate: rate, Warmup: 0.5, Window: 2, Purpose: Explore}, Length: 2, StartTime: float64(3 * len(s.Trials))}
		for i := range 2 {
			one.Seconds = append(one.Seconds, Second{Due: rate, Bad: []float64{rate * share * float64(2*i)}, InFlight: (rate - served) * float64(i+1)})
			one.Due, one.Done, one.Served = one.Due+rate, one.Done+served, one.Served+served
		}
		s.Add(one, 3)
		return s.Result()
	}
	tried(1600, 0, 1600)
	if r := tried(6400, 0.0309, 6400); r.Lower != 1600 || !math.IsInf(r.Upper, 1) {
		t.Errorf("after a rate that missed the goal, the lower bound is %g, want 1600 and no upper bound: %+v", r.Lower, r)
	}
	tried(25_600, 1, 9547)
	if s.failsAt(6400) || !s.failsAt(25_600) {
		t.Error("failsAt must be false at 6400/s and true at 25,600/s")
	}
	s.Next(24.5)
	if r := s.Result(); r.Status != TimeOver || r.Lower > 1600 || r.Upper < 6400 || r.Upper > 25_700 || r.Estimate < 1600 || r.Estimate > 6400 {
		t.Errorf("the result is %+v", r)
	}
	s = New(Options{Goals: s.Goals, TimeLimit: 25, InitialRate: 6400, MinRate: 10, MaxRate: 1e6})
	tried(6400, 0.0309, 6400)
	if r := tried(25_600, 1, 9547); r.Estimate != 0 || r.Lower > 100 {
		t.Errorf("if no rate meets the goal, the result is %+v", r)
	}
}
