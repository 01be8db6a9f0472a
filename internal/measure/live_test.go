package measure

import (
	"math/rand/v2"
	"testing"
)

// LiveSteps produce the same histograms as values that are recorded directly.
func TestLiveStepsBecomeTheSameHistograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pool := NewLivePool(NewHistogram)
	for range 3 { // the second and the third iteration reuse the steps of the first one
		s, want, also := &Second{}, NewHistogram(), NewHistogram()
		both := pool.Begin(s, &s.Lateness, &s.Disturbed.Own)
		Record(also, 77)
		s.Disturbed.Own = also // the histogram already contains a value
		whole := NewHistogram()
		Record(whole, 77)
		for range 10_000 {
			ns := rng.Int64N(1<<(1+rng.IntN(43))) - 5
			both.Record(ns)
			Record(want, ns)
			Record(whole, ns)
		}
		s.Settle()
		if !s.Lateness.Equals(want) || !s.Disturbed.Own.Equals(whole) {
			t.Fatal("the histograms differ")
		}
		s.Settle()
		if !s.Lateness.Equals(want) {
			t.Fatal("a settled second gets its counts again")
		}
	}
}

func BenchmarkLiveRecord(b *testing.B) {
	l := &LiveSteps{}
	for n := range b.N {
		l.Record(int64(n) << 8)
	}
}
