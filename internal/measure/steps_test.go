package measure

import (
	"math/rand/v2"
	"testing"
)

// Recorded times of at least 1 µs have an error of at most 1 %.
func TestStepsAreBelowOnePercent(t *testing.T) {
	for _, ns := range []int64{1000, 1001, 1500, 2047, 8191, 8192, 16_383, 16_384, 131_071, 131_072, 1_000_000, 999_999_999, 60_000_000_000} {
		h := NewHistogram()
		Record(h, ns)
		// this is the percentile of the only success; the failures make the sample large enough
		got := Percentile(h, 9*1000, 0.001)
		if !got.Known || got.NS < float64(ns) || got.NS > 1.01*float64(ns) {
			t.Errorf("%d ns are reported as %+v", ns, got)
		}
	}
}

// The lowest value of a step belongs to the step, and the next lower value does not.
func TestStepOfAgreesWithHistograms(t *testing.T) {
	h := NewHistogram()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		ns := rng.Int64N(1 << (1 + rng.IntN(42)))
		low := StepFloor(ns)
		if low > ns {
			t.Fatalf("the step of %d begins at %d", ns, low)
		}
		if ns = min(ns, Highest); !h.ValuesAreEquivalent(ns, low) || low > 0 && h.ValuesAreEquivalent(ns, low-1) {
			t.Fatalf("the step of %d does not begin at %d", ns, low)
		}
	}
}
