package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func sample(rng *rand.Rand, n int, center, spread float64) []record.Value {
	all := make([]record.Value, 0, n)
	for range n {
		all = append(all, fig(center*math.Exp(spread*rng.NormFloat64())))
	}
	return all
}

// Identical samples have no change, and their interval says so; a change of
// unit changes nothing; swapping the sides turns the ratio over.
func TestChangeProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		n := MinRepeats + rng.IntN(6)
		a := sample(rng, n, 1000, 0.2)
		b := sample(rng, MinRepeats+rng.IntN(6), 1000*(0.5+rng.Float64()), 0.2)
		ties := rng.IntN(4) == 0
		if ties {
			for i := range a {
				a[i].Number = math.Round(a[i].Number/200) * 200
			}
		}
		if c := ChangeOf(a, a, record.Less); c.Share != 0 || !c.Interval || c.Low > 0 || c.High < 0 {
			t.Errorf("a sample differs from itself: %+v", c)
		}
		c, back := ChangeOf(a, b, record.Less), ChangeOf(b, a, record.Less)
		if !c.Known || !c.Interval || c.Low > c.High {
			t.Fatalf("%+v", c)
		}
		near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9*(1+math.Abs(x)) }
		if !near((1+c.Share)*(1+back.Share), 1) && len(a)%2 == 1 && len(b)%2 == 1 {
			t.Errorf("%v and back %v", c.Share, back.Share)
		}
		// (The exact test is not symmetric where values are equal.)
		if !ties && !near((1+c.Low)*(1+back.High), 1) || !ties && !near((1+c.High)*(1+back.Low), 1) {
			t.Errorf("the interval %v to %v is back %v to %v", c.Low, c.High, back.Low, back.High)
		}
		scaled := make([]record.Value, 0, len(a))
		for _, f := range a {
			scaled = append(scaled, fig(8*f.Number))
		}
		if s := ChangeOf(scaled, b, record.Less); !near(1+s.Share, 8*(1+c.Share)) || !near(1+s.Low, 8*(1+c.Low)) {
			t.Errorf("eight times as much: %+v, not %+v", s, c)
		}
		if m := Median(a, record.Less).Number - Median(b, record.Less).Number; m != 0 && math.Signbit(m) != math.Signbit(c.Share) {
			t.Errorf("medians differ by %v and the change is %v", m, c.Share)
		}
	}
}

// In 95 of 100 cases at least the interval holds the true change.
func TestIntervalCoversTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const cases = 300
	for _, n := range []int{5, 8} {
		held := 0
		for range cases {
			c := ChangeOf(sample(rng, n, 1200, 0.1), sample(rng, n, 1000, 0.1), record.Less)
			if c.Low <= 0.2 && 0.2 <= c.High {
				held++
			}
		}
		if held < cases*93/100 {
			t.Errorf("with %d repeats the interval holds the truth in %d of %d cases", n, held, cases)
		}
	}
}

func TestChangeIsToldWhereItCanBe(t *testing.T) {
	five := []record.Value{fig(10), fig(11), fig(12), fig(13), fig(14)}
	twice := []record.Value{fig(20), fig(22), fig(24), fig(26), fig(28)}
	failed := append([]record.Value{{Failed: true}}, five...)
	if c := ChangeOf(twice, five, record.Less); c.Share != 1 || !c.Interval || c.Low <= 0 {
		t.Errorf("twice as much is %+v", c)
	}
	if c := ChangeOf(five, twice, record.Less); c.Share != -0.5 || c.High >= 0 {
		t.Errorf("half as much is %+v", c)
	}
	if c := ChangeOf(twice[:4], five, record.Less); c.Share != 1 || c.Interval {
		t.Errorf("with four repeats: %+v", c)
	}
	if c := ChangeOf(five[:1], five[:1], record.Less); c.Share != 0 || !c.Known || c.Interval {
		t.Errorf("with one: %+v", c)
	}
	if c := ChangeOf(failed, five, record.Less); !c.Known || c.Interval {
		t.Errorf("one of them failed: %+v", c)
	}
	for _, none := range [][]record.Value{nil, {{}}, {{Failed: true}}, {fig(0)}} {
		if c := ChangeOf(five, none, record.Less); c.Known {
			t.Errorf("against %v there is a change", none)
		}
	}
	same := []record.Value{fig(7), fig(7), fig(7), fig(7), fig(7)}
	if c := ChangeOf(same, same, record.Less); c.Low != 0 || c.High != 0 || !c.Interval {
		t.Errorf("one value: %+v", c)
	}
}

// With five repeats against five, the two lowest and the two highest ratios of
// single repeats are left out: the U-test's limit for that size is 2.
func TestIntervalOfFiveIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	a, b := sample(rng, 5, 1000, 0.3), sample(rng, 5, 900, 0.3)
	var all []float64
	for _, x := range a {
		for _, y := range b {
			all = append(all, x.Number/y.Number)
		}
	}
	slices.Sort(all)
	if c := ChangeOf(a, b, record.Less); c.Low != all[2]-1 || c.High != all[22]-1 {
		t.Errorf("%v to %v, not %v to %v", c.Low, c.High, all[2]-1, all[22]-1)
	}
}

// A median is the figure of a repeat, never a mean of two: of an even number
// the slower one.
func TestMedianIsOneRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for n := 1; n < 12; n++ {
		all := sample(rng, n, 1000, 0.3)
		slow, rate := Median(all, record.Less), Median(all, record.More)
		if !slices.Contains(all, slow) || !slices.Contains(all, rate) {
			t.Fatalf("%v and %v are not among %v", slow, rate, all)
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
			t.Errorf("of %d figures %d are slower than the median and %d below the median rate", n, above, below)
		}
	}
	run := openOlder(t)
	var p99s, rates []record.Value
	p99, ops := record.Registered("service-p99"), record.Registered("ops")
	for i := range run.Trials {
		p99s, rates = append(p99s, p99.Of(&run.Trials[i])), append(rates, ops.Of(&run.Trials[i]))
	}
	if m, r := Median(p99s, record.Less), Median(rates, record.More); m != p99s[0] || r != rates[0] {
		t.Errorf("p99 %v of %v, throughput %v of %v: the first repeat was the slower one", m, p99s, r, rates)
	}
}
