package analyze

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A use that is a straight line over the rate is found again at every rate, between the
// trials and beyond them, and so is the rate at which it comes to a limit.
func TestAStraightUseIsFoundAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		between := func(from, to float64) float64 { return from + (to-from)*random.Float64() }
		base, slope := between(0, 3), between(1e-4, 1e-2)
		var points []usedPoint
		rate := 0.0
		for range 2 + random.IntN(11) {
			rate += between(10, 500)
			points = append(points, usedPoint{rate: rate, cpu: base + slope*rate, network: math.NaN()})
		}
		l := lineOf(points, func(p *usedPoint) float64 { return p.cpu })
		at := between(0, 2*rate)
		if got, want := l.at(at), base+slope*at; math.Abs(got-want) > 1e-6*want {
			t.Fatalf("seed %d: at %g it is %g, not %g", seed, at, got, want)
		}
		limit := base + slope*rate*between(1.1, 5)
		if got, want := l.reaches(limit), (limit-base)/slope; math.Abs(got-want) > 1e-6*want {
			t.Fatalf("seed %d: it reaches %g at %g, not %g", seed, limit, got, want)
		}
		if lineOf(points, func(p *usedPoint) float64 { return p.network }) != nil {
			t.Fatal("what is not known has a line")
		}
	}
}

// One trial is a use in proportion to the rate; one that falls has no rate at which it
// is full.
func TestFewAndFallingUses(t *testing.T) {
	t.Parallel()
	one := lineOf([]usedPoint{{rate: 100, cpu: 2}}, func(p *usedPoint) float64 { return p.cpu })
	if one.at(50) != 1 || one.at(200) != 4 || one.reaches(8) != 400 || one.reaches(0) != 0 {
		t.Errorf("one trial: %g, %g, %g", one.at(50), one.at(200), one.reaches(8))
	}
	falls := lineOf([]usedPoint{{rate: 100, cpu: 2}, {rate: 200, cpu: 1}}, func(p *usedPoint) float64 { return p.cpu })
	if falls.reaches(8) != 0 || falls.at(150) != 1.5 {
		t.Errorf("a falling use is full at %g, and %g between", falls.reaches(8), falls.at(150))
	}
}
