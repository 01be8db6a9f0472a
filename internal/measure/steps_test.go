package measure

import (
	"math/rand/v2"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// From 1 µs up a recorded time is known to 1 %.
func TestStepsAreBelowOnePercent(t *testing.T) {
	for _, ns := range []int64{1000, 1001, 1500, 2047, 8191, 8192, 16_383, 16_384, 131_071, 131_072, 1_000_000, 999_999_999, 60_000_000_000} {
		h := NewHistogram()
		Record(h, ns)
		got := Percentile(h, 9*1000, 0.001) // of one success, supported by what failed
		if !got.Known || got.NS < float64(ns) || got.NS > 1.01*float64(ns) {
			t.Errorf("%d ns are told as %+v", ns, got)
		}
	}
}

// Histograms of older versions have steps of 64 ns. Added up by themselves they
// keep them, and every figure; added to one of today's no operation is lost.
func TestOlderStepsAddUp(t *testing.T) {
	older := func() *Histogram { return hdr.New(64, Highest, Digits) }
	rng := rand.New(rand.NewPCG(1, 2))
	whole := older()
	sum := NewHistogram() // empty, so it takes on the steps of what comes
	today := one(1)
	const parts, each = 5, 4000
	for range parts {
		part := older()
		for range each {
			ns := int64(rng.ExpFloat64() * 5000)
			Record(part, ns)
			Record(whole, ns)
		}
		sum = Add(sum, part)
		Add(today, part)
	}
	if Summarize(sum, 0) != Summarize(whole, 0) {
		t.Errorf("added up: %+v, not %+v", Summarize(sum, 0), Summarize(whole, 0))
	}
	if today.TotalCount() != 1+parts*each {
		t.Errorf("%d of %d are left", today.TotalCount(), 1+parts*each)
	}
	for _, p := range Percentiles {
		a, b := Percentile(today, 0, p), Percentile(whole, 0, p)
		if a.NS > b.NS || a.NS < b.NS-64 {
			t.Errorf("p%v is %v with today's steps, and was %v", p, a.NS, b.NS)
		}
	}
	if Add(nil, nil) != nil || Add(sum, nil) != sum {
		t.Error("nothing was added, and something came of it")
	}
}

// A step's lowest value is counted where its others are, and the one below it is
// not.
func TestStepOfIsTheHistograms(t *testing.T) {
	h := NewHistogram()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		ns := rng.Int64N(1 << (1 + rng.IntN(42)))
		low := StepOf(ns)
		if low > ns {
			t.Fatalf("the step of %d begins at %d", ns, low)
		}
		if ns = min(ns, Highest); !h.ValuesAreEquivalent(ns, low) || low > 0 && h.ValuesAreEquivalent(ns, low-1) {
			t.Fatalf("the step of %d begins elsewhere than at %d", ns, low)
		}
	}
}
