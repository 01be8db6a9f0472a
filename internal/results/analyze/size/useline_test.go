package size

import (
	"math"
	"math/rand/v2"
	"testing"
)

// If a use is linear in the rate, the use is found at every rate between the trials. Outside the
// range of the trials, the use is found as far as the trials support a straight line. The same is
// true for the rate at which the use reaches a limit. At all other rates, the use is unknown.
func TestLinearUseIsRecovered(t *testing.T) {
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
		first := points[0].rate
		supported := len(points) >= minRates && rate >= minRateRatio*first
		l := lineOf(points, func(p *usedPoint) float64 { return p.cpu })
		at := between(0, 3*rate)
		want, within := base+slope*at, at >= first && at <= rate
		switch got, known := l.use(at); {
		case within && !known, supported && at <= maxExtrapolation*rate && !known:
			t.Fatalf("seed %d: the use at %g is unknown, with measured rates from %g to %g", seed, at, first, rate)
		case !supported && known && (at > sameRateRatio*rate || at*sameRateRatio < first), known && at > maxExtrapolation*rate:
			t.Fatalf("seed %d: the use at %g, with measured rates from %g to %g, is %g, want unknown", seed, at, first, rate, got)
		case known && (within || supported) && math.Abs(got-want) > 1e-6*want && (within || at > sameRateRatio*rate || at*sameRateRatio < first):
			t.Fatalf("seed %d: the use at %g is %g, want %g", seed, at, got, want)
		}
		limit := base + slope*rate*between(1.1, 3)
		wantAt := (limit - base) / slope
		if !supported || wantAt > maxExtrapolation*rate {
			wantAt = 0
		}
		if got := l.reaches(limit); math.Abs(got-wantAt) > 1e-6*wantAt {
			t.Fatalf("seed %d: the line reaches %g at %g, want %g", seed, limit, got, wantAt)
		}
		if lineOf(points, func(p *usedPoint) float64 { return p.network }) != nil {
			t.Fatal("a metric without measurements has a line")
		}
	}
}

// A single trial, trials at almost the same rate, and trials that are not on a line do not show the
// use at other rates.
func TestFewAndFallingUses(t *testing.T) {
	t.Parallel()
	for name, points := range map[string][]usedPoint{
		"one":           {{rate: 100, cpu: 2}},
		"two":           {{rate: 100, cpu: 2}, {rate: 200, cpu: 1}},
		"about one":     {{rate: 100, cpu: 2}, {rate: 101, cpu: 2}, {rate: 103, cpu: 2}},
		"on no line":    {{rate: 100, cpu: 0.1}, {rate: 200, cpu: 8}, {rate: 400, cpu: 2}, {rate: 800, cpu: 9}},
		"falling":       {{rate: 100, cpu: 9}, {rate: 200, cpu: 8}, {rate: 400, cpu: 6}},
		"below nothing": {{rate: 100, cpu: 0.1}, {rate: 150, cpu: 4}, {rate: 200, cpu: 8}},
	} {
		l := lineOf(points, func(p *usedPoint) float64 { return p.cpu })
		last := points[len(points)-1].rate
		for _, rate := range []float64{points[0].rate / 2, 1.5 * last, 5 * last} {
			if use, known := l.use(rate); known {
				t.Errorf("%s: the use at %g is %g, want unknown", name, rate, use)
			}
		}
		if full := l.reaches(20); full != 0 {
			t.Errorf("%s: the line reaches 20 CPUs at %g, want 0", name, full)
		}
		if use, known := l.use(points[0].rate); !known || use != points[0].cpu {
			t.Errorf("%s: the use at the first measured rate is %g, known %v", name, use, known)
		}
	}
}
