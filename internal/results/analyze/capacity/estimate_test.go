package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The divergence is 0 if the shares are equal, and increases with their difference.
func TestDivergenceIncreasesWithTheDifference(t *testing.T) {
	for _, share := range []float64{1e-6, 0.001, 0.01, 0.3, 0.5, 0.99} {
		if d := divergence(share, logit(share)); math.Abs(d) > 1e-12 {
			t.Errorf("the divergence of the share %g from itself is %g, want 0", share, d)
		}
		for _, to := range []float64{-1, 1} {
			last := 0.0
			for k := 1; k < 20; k++ {
				d := divergence(share, logit(share)+to*float64(k)/4)
				if d <= last {
					t.Errorf("share %g: the divergence is %g after %d quarter steps in the direction %g, want more than %g", share, d, k, to, last)
				}
				last = d
			}
		}
	}
}

// If operations become bad independently of each other, spread returns the binomial variance. If
// they become bad in groups, the variance is larger by a factor that equals the size of the groups.
func TestSpread(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, cluster := range []int{1, 20} {
		const share, due, runs = 0.02, 2000, 400
		sum, square, shown := 0.0, 0.0, 0.0
		for range runs {
			seconds := make([]Second, 12)
			total := 0.0
			for i := range seconds {
				bad := 0.0
				for range due / cluster {
					if rng.Float64() < share {
						bad += float64(cluster)
					}
				}
				seconds[i] = Second{Due: due, Bad: []float64{bad}}
				total += bad
			}
			sum, square = sum+total, square+total*total
			shown += spread(seconds, 0, total/(12*due))
		}
		is := square/runs - sum/runs*sum/runs
		// the tolerance is large, because spread estimates the mean from the same seconds
		if ratio := shown / runs / is; ratio < 0.6 || ratio > 1.25 {
			t.Errorf("clusters of %d: the variance is %.0f, but spread returns %.0f on average", cluster, is, shown/runs)
		}
	}
}

// A backlog that grows in every second is an overload. A backlog that rises and falls is not.
func TestOverloaded(t *testing.T) {
	rising := Trial{Length: 10, Due: 10_000, Done: 9950}
	level := rising
	for i := range 10 {
		rising.Seconds = append(rising.Seconds, Second{Due: 1000, InFlight: float64(10 + 8*i)})
		level.Seconds = append(level.Seconds, Second{Due: 1000, InFlight: float64(10 + 60*(i%2))})
	}
	if !rising.Overloaded(nil) || level.Overloaded(nil) {
		t.Errorf("overload with a rising backlog: %v, want true; with a level backlog: %v, want false", rising.Overloaded(nil), level.Overloaded(nil))
	}
	level.Done = 9800
	if !level.Overloaded(nil) {
		t.Error("a trial that did not complete 2 % of its operations is no overload")
	}
}

// TestOverloadedByChance checks that operations in flight at the end of a short window are an
// overload only in two cases: if they cannot be done within the time that the objective allows, or
// if their number grows.
func TestOverloadedByChance(t *testing.T) {
	goals := []Goal{{Name: "p99<50ms", Limit: 0.01, Span: 0.05, Percentile: true}}
	for name, one := range map[string]struct {
		done     float64 // of 1,600 due per second
		inFlight []float64
		want     bool
	}{
		"a burst at the end":      {1550, []float64{60}, false},
		"a second of 150 ms":      {1360, []float64{250}, true},
		"a store that lags":       {4700, []float64{70, 72, 110}, false},
		"a backlog that grows":    {9400, []float64{45, 77, 112, 144, 177, 212}, true},
		"a backlog that does not": {9500, []float64{60, 10, 80, 20, 60, 112}, false},
	} {
		trial := Trial{Plan: Plan{Rate: 1600, Warmup: 0.5, Purpose: Settle}, Length: float64(len(one.inFlight)), Done: one.done}
		for _, n := range one.inFlight {
			trial.Seconds = append(trial.Seconds, Second{Due: 1600, InFlight: n, Bad: []float64{0}})
			trial.Due += 1600
		}
		if got := trial.Overloaded(goals); got != one.want {
			t.Errorf("%s: overloaded %v, want %v", name, got, one.want)
		}
	}
}

// The trials are generated from a known line; operations become bad in random groups. As often as
// the confidence level guarantees, the interval contains the rate at which the line crosses the
// limit.
func TestProfileContainsTheCrossing(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(3, 4))
	goal := Goal{Limit: 0.01, Span: 0.005}
	const runs, cluster, rate = 300, 10, 1000.0
	held := 0
	for range runs {
		slope := 20 * math.Pow(10, rng.Float64())
		var points []point
		for i := range 6 {
			x := []float64{-0.02, 0.015}[i%2]
			trial := Trial{Plan: Plan{Rate: rate * math.Exp(x)}, Length: 8}
			share := odds(logit(goal.Limit) + slope*x)
			for range 8 {
				bad := 0.0
				for range int(rate) / cluster {
					if rng.Float64() < share {
						bad += cluster
					}
				}
				trial.Seconds = append(trial.Seconds, Second{Due: rate, Bad: []float64{bad}})
				trial.Due, trial.Done = trial.Due+rate, trial.Done+rate
			}
			points = append(points, pointOf(&trial, []Goal{goal}, 0))
		}
		from, _, to := profile(points, goal, math.Log(rate)-0.3, math.Log(rate)+0.3, 0.95)
		if from <= math.Log(rate) && math.Log(rate) <= to {
			held++
		}
	}
	if held < runs*92/100 {
		t.Errorf("the intervals contain the crossing in %d of %d runs", held, runs)
	}
}

// Without a warm-up, no operations are in flight at the start of the window. If a store is as slow
// as the objective allows, some operations are in flight at the end. This is not an overload. But
// if the number in flight keeps growing, it is an overload.
func TestEmptyStartOfTheWindowIsNotMistakenForOverload(t *testing.T) {
	slow := Trial{Plan: Plan{Rate: 22_656, Window: 10}, Length: 10}
	over := slow
	for i := range 10 { // 2,790 operations per second with a mean time of 340 ms
		slow.Seconds = append(slow.Seconds, Second{Due: 2790, InFlight: 948 + float64(5*(i%3)), Bad: []float64{9}})
		over.Seconds = append(over.Seconds, Second{Due: 2790, InFlight: float64(94 * (i + 1)), Bad: []float64{9}})
	}
	goals := []Goal{{Name: "p99<1s", Limit: 0.01, Span: 1}}
	for _, one := range []*Trial{&slow, &over} {
		one.Due = 27_900
		one.Done = one.Due - one.Seconds[9].InFlight
	}
	if slow.Overloaded(nil) || !slow.Holds(goals) {
		t.Error("a trial whose operations wait for 340 ms is an overload")
	}
	if !over.Overloaded(nil) || over.Holds(goals) {
		t.Error("a trial with a backlog that grows by 3 % of the due operations is no overload")
	}
	// with a warm-up, the same number of operations is in flight at the start of the window
	slow.Warmup = 2
	if !slow.Overloaded(nil) {
		t.Error("with a warm-up, a trial that did not complete 3 % of its operations is no overload")
	}
}

// The table of log(1 + odds) agrees with the function, within the error that its comment states.
// Both ends of the band are in the table.
func TestNormalTableAgreesWithTheFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		eta := -14 + 14*r.Float64() // limits from 1 in a million to 1 in 2
		table := newNormalTable(eta)
		for _, above := range []float64{-bandBelow, 0, bandAbove, -bandBelow + (bandBelow+bandAbove)*r.Float64()} {
			if got, want := table.lookUp(above), normal(eta+above); math.Abs(got-want) > 2e-12 {
				t.Errorf("log odds %g + %g: the table has %.17g, want %.17g", eta, above, got, want)
			}
		}
	}
}

// deviance begins with the slope that fitted the previous line, and stops the sums of other slopes
// early. Up to rounding, it finds the same deviance as complete sums over all slopes, and a slope
// that has this deviance.
func TestDevianceIsTheLeastOfAllSlopes(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const rounding = 1e-9
	for range 100 {
		a := newAnyone(r)
		s := New(someOptions())
		for range 12 {
			plan := Plan{Rate: a.capacity * math.Exp(0.4*r.Float64()-0.2), Window: 6, Purpose: Refine}
			s.Trials = append(s.Trials, a.run(s, plan, 0))
		}
		low, high := math.Log(a.capacity)-0.5, math.Log(a.capacity)+0.5
		points, _ := s.points(0, low, high)
		f := newFit(points, s.Goals[0], low, high)
		for range 40 {
			l := line{x: low + (high-low)*r.Float64(), drift: 1e-3 * r.NormFloat64(), middle: 3}
			least, deviances := math.Inf(1), map[float64]float64{}
			for k, slope := range slopeAt {
				deviances[slope] = f.distance(&l, k, math.Inf(1))
				least = min(least, deviances[slope])
			}
			got := f.deviance(&l)
			if math.Abs(got-least) > rounding || math.Abs(deviances[l.slope]-least) > rounding {
				t.Fatalf("the deviance is %g with the slope %g, which has %g; the least of complete sums is %g", got, l.slope, deviances[l.slope], least)
			}
		}
	}
}
