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
		both := pool.NewSteps(s, &s.Lateness, &s.Disturbance.OwnDelay)
		Record(also, 77)
		s.Disturbance.OwnDelay = also // the histogram already contains a value
		whole := NewHistogram()
		Record(whole, 77)
		for range 10_000 {
			ns := rng.Int64N(1<<(1+rng.IntN(43))) - 5
			both.Record(ns)
			Record(want, ns)
			Record(whole, ns)
		}
		s.FlushLive()
		if !s.Lateness.Equals(want) || !s.Disturbance.OwnDelay.Equals(whole) {
			t.Fatal("the histograms differ from the recorded times")
		}
		s.FlushLive()
		if !s.Lateness.Equals(want) {
			t.Fatal("the counts of a settled second were added again")
		}
	}
}

func BenchmarkLiveRecord(b *testing.B) {
	l := &LiveSteps{}
	for n := range b.N {
		l.Record(int64(n) << 8)
	}
}
