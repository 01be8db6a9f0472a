package analyze

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// changeOf calls ChangeOf with repeats that were not disturbed.
func changeOf(now, base []figures.Value, rounds bool) Change {
	return ChangeOf(Repeated{Values: now}, Repeated{Values: base}, rounds)
}

func sample(rng *rand.Rand, n int, center, spread float64) []figures.Value {
	all := make([]figures.Value, 0, n)
	for range n {
		all = append(all, fig(center*math.Exp(spread*rng.NormFloat64())))
	}
	return all
}

// Identical samples have no change, and their interval contains 0. Converting the values of both
// sides to another unit has no effect. Swapping the sides inverts the ratio.
func TestChangeProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		n := MinRepeats + rng.IntN(6)
		a := sample(rng, n, 1000, 0.2)
		b := sample(rng, MinRepeats+rng.IntN(6), 1000*(0.5+rng.Float64()), 0.2)
		if c := changeOf(a, a, false); c.Share != 0 || !c.Interval || c.Low > 0 || c.High < 0 {
			t.Errorf("the change between identical samples is %+v, want 0", c)
		}
		c, back := changeOf(a, b, false), changeOf(b, a, false)
		if !c.Known || !c.Interval || c.Low > c.High {
			t.Fatalf("%+v", c)
		}
		near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9*(1+math.Abs(x)) }
		if !near((1+c.Share)*(1+back.Share), 1) {
			t.Errorf("the change is %v, and with swapped sides it is %v", c.Share, back.Share)
		}
		if !near((1+c.Low)*(1+back.High), 1) || !near((1+c.High)*(1+back.Low), 1) {
			t.Errorf("the interval is %v to %v, and with swapped sides it is %v to %v", c.Low, c.High, back.Low, back.High)
		}
		scaled := make([]figures.Value, 0, len(a))
		for _, f := range a {
			scaled = append(scaled, fig(8*f.Number))
		}
		if s := changeOf(scaled, b, false); !near(1+s.Share, 8*(1+c.Share)) || !near(1+s.Low, 8*(1+c.Low)) {
			t.Errorf("with all values of one side multiplied by 8, the change is %+v, want 8 times %+v", s, c)
		}
	}
}

// The interval contains the true change in at least 95 of 100 cases.
func TestIntervalCoversTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const cases = 300
	for _, n := range []int{5, 8} {
		held := 0
		for range cases {
			c := changeOf(sample(rng, n, 1200, 0.1), sample(rng, n, 1000, 0.1), false)
			if c.Low <= 0.2 && 0.2 <= c.High {
				held++
			}
		}
		if held < cases*93/100 {
			t.Errorf("with %d repeats the interval holds the truth in %d of %d cases", n, held, cases)
		}
	}
}

func TestChangeNeedsKnownPositiveFigures(t *testing.T) {
	five := []figures.Value{fig(10), fig(11), fig(12), fig(13), fig(14)}
	twice := []figures.Value{fig(20), fig(22), fig(24), fig(26), fig(28)}
	failed := append([]figures.Value{{Failed: true}}, five...)
	if c := changeOf(twice, five, false); math.Abs(c.Share-1) > 1e-9 || !c.Interval || c.Low <= 0 {
		t.Errorf("the change to twice the figures is %+v", c)
	}
	if c := changeOf(five, twice, false); math.Abs(c.Share+0.5) > 1e-9 || c.High >= 0 {
		t.Errorf("the change to half of the figures is %+v", c)
	}
	if c := changeOf(twice[:4], five[:4], false); math.Abs(c.Share-1) > 1e-9 || c.Interval {
		t.Errorf("with four repeats: %+v", c)
	}
	if c := changeOf(five[:1], five[:1], false); c.Share != 0 || !c.Known || c.Interval {
		t.Errorf("one repeat on each side: %+v", c)
	}
	if c := changeOf(failed, five, false); c.Known {
		t.Errorf("with a failed repeat, the change is known: %+v", c)
	}
	// The median of a single repeat is the value of that repeat.
	one := []figures.Value{{Number: 14433.8, Known: true}}
	if v := Median(one, figures.HigherIsBetter); v != one[0] {
		t.Errorf("the median of one repeat is %v, want the value of that repeat", v)
	}
	for _, none := range [][]figures.Value{nil, {{}}, {{Failed: true}}, {fig(0)}} {
		if c := changeOf(five, none, false); c.Known {
			t.Errorf("the change against %v is known, want unknown", none)
		}
	}
	same := []figures.Value{fig(7), fig(7), fig(7), fig(7), fig(7)}
	if c := changeOf(same, same, false); c.Low != 0 || c.High != 0 || !c.Interval {
		t.Errorf("one value: %+v", c)
	}
}

// A median is always the value of one repeat, never the mean of two. If the number of repeats is
// even, the median is the slower of the two middle values.
func TestMedianIsTheValueOfOneRepeat(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for n := 1; n < 12; n++ {
		all := sample(rng, n, 1000, 0.3)
		slow, rate := Median(all, figures.LowerIsBetter), Median(all, figures.HigherIsBetter)
		if !slices.Contains(all, slow) || !slices.Contains(all, rate) {
			t.Fatalf("the medians %v and %v are not both among the values %v", slow, rate, all)
		}
		above, below := 0, 0
		for _, f := range all {
			if f.Number > slow.Number {
				above++
			}
			if f.Number < rate.Number {
				below++
			}
		}
		if above != (n-1)/2 || below != (n-1)/2 {
			t.Errorf("%d figures: %d are slower than the median and %d are below the median rate", n, above, below)
		}
	}
	run := openRepeats(t)
	var p99s, rates []figures.Value
	p99, ops := figures.Registered("service-p99"), figures.Registered("ops")
	for i := range 2 {
		p99s, rates = append(p99s, p99.Value(&run.Trials[i])), append(rates, ops.Value(&run.Trials[i]))
	}
	slower := func(a, b figures.Value) int { return cmp.Compare(a.Number, b.Number) }
	if m, r := Median(p99s, figures.LowerIsBetter), Median(rates, figures.HigherIsBetter); m != slices.MaxFunc(p99s, slower) || r != slices.MinFunc(rates, slower) {
		t.Errorf("the median p99 is %v of %v and the median throughput %v of %v, want the values of the slower repeat", m, p99s, r, rates)
	}
}

// If there are enough rounds, the repeats of each round are compared as a pair, so that a drift
// between rounds cancels.
func TestDriftBetweenRoundsCancels(t *testing.T) {
	drifting := func(by float64) (all []figures.Value) {
		for round := range stats.MinRounds {
			all = append(all, fig(by*math.Exp(float64(round))))
		}
		return all
	}
	now, base := drifting(1100), drifting(1000)
	if c := changeOf(now, base, true); math.Abs(c.Low-0.1) > 1e-9 || math.Abs(c.High-0.1) > 1e-9 || !c.Ratio.Paired() {
		t.Errorf("with paired rounds, the change is %+v", c)
	}
	if c := changeOf(now, base, false); c.Low > -0.5 || c.High < 1 {
		t.Errorf("without paired rounds, the change is %+v", c)
	}
	if c := changeOf(now[1:], base[1:], true); c.Low > -0.5 || c.High < 1 || c.Ratio.Paired() {
		t.Errorf("with too few rounds to be paired, the change is %+v", c)
	}
}
