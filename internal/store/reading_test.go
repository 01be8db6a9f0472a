package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bounds are the upper bounds of etcd's buckets, in seconds.
var bounds = []float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, math.Inf(1)}

func timed(times []float64) Reading {
	r := Reading{Count: float64(len(times))}
	for _, upper := range bounds {
		b := Bucket{Upper: upper}
		for _, t := range times {
			if t <= upper {
				b.Count++
			}
		}
		r.Buckets = append(r.Buckets, b)
	}
	for _, t := range times {
		r.Sum += t
	}
	return r
}

func draw(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp(rng.NormFloat64()*2 - 5)
	}
	return out
}

// TestQuantileIsInItsBucket checks that a quantile is in the same bucket as the exact value,
// and that it never decreases when q increases.
func TestQuantileIsInItsBucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		times := draw(rng, 1+rng.IntN(500))
		r := timed(times)
		slices.Sort(times)
		before := 0.0
		for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			got, ok := r.Quantile(q)
			if !ok || got < before {
				t.Fatalf("quantile %v is %v (%v), after %v", q, got, ok, before)
			}
			before = got
			exact := times[max(int(math.Ceil(q*float64(len(times))))-1, 0)]
			lower, upper := 0.0, 0.0
			for _, b := range bounds {
				if upper = b; exact <= b {
					break
				}
				lower = b
			}
			if math.IsInf(upper, 1) {
				upper = lower
			}
			if got < lower || got > upper {
				t.Fatalf("quantile %v of %d times is %v, but the exact value %v is in the bucket from %v to %v", q, len(times), got, exact, lower, upper)
			}
		}
		lower, upper, ok := r.Longest()
		if longest := times[len(times)-1]; !ok || longest <= lower || longest > upper {
			t.Fatalf("the longest time is %v, not in the range from %v to %v", longest, lower, upper)
		}
	}
}

// TestSinceAndPlusLoseNothing checks that an earlier reading plus the change since that reading
// equals the later reading.
func TestSinceAndPlusLoseNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		early, late := draw(rng, rng.IntN(300)), draw(rng, rng.IntN(300))
		whole := timed(append(slices.Clone(early), late...))
		d := whole.Since(timed(early))
		want := timed(late)
		sum := timed(early).Plus(d)
		if d.Count != want.Count || math.Abs(d.Sum-want.Sum) > 1e-9 || sum.Count != whole.Count {
			t.Fatalf("the difference has %v times with the sum %v, want %v with the sum %v", d.Count, d.Sum, want.Count, want.Sum)
		}
		for i := range want.Buckets {
			if d.Buckets[i] != want.Buckets[i] || sum.Buckets[i] != whole.Buckets[i] {
				t.Fatalf("bucket %d is %v, want %v", i, d.Buckets[i], want.Buckets[i])
			}
		}
	}
}

func TestSinceAfterRestart(t *testing.T) {
	now := Reading{Value: 3}
	if d := now.Since(Reading{Value: 100}); d.Value != 3 {
		t.Errorf("after a restart, the counter's difference is %v, want 3", d.Value)
	}
	timers := timed([]float64{0.003})
	if d := timers.Since(timed([]float64{1, 2, 3})); d.Count != 1 {
		t.Errorf("after a restart, the difference has %v times, want 1", d.Count)
	}
}

func TestQuantileWithoutTimesIsUnknown(t *testing.T) {
	for _, r := range []Reading{{}, timed(nil), {Sum: 1, Count: 2}} {
		if p, ok := r.Quantile(0.99); ok {
			t.Errorf("the quantile of %v is %v", r, p)
		}
	}
	if _, ok := timed(nil).Mean(); ok {
		t.Error("Mean returned a value for a reading without times")
	}
}
