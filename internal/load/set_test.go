package load

import (
	"math/rand/v2"
	"testing"
)

// The list of a set's numbers is sorted, and needs one bit for each possible number.
func TestSetListsItsNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint64{1, 63, 64, 65, 511, 512, 513, 100_000} {
		for _, share := range []float64{0, 0.001, 0.5, 1} {
			s, want := newSet(n), []uint64{}
			for i := range n {
				if rng.Float64() < share {
					s.add(i)
					want = append(want, i)
				}
			}
			l := s.snapshot()
			if l.count != uint64(len(want)) {
				t.Fatalf("%d of %d numbers are in the set, but its snapshot has %d", len(want), n, l.count)
			}
			for i, number := range want {
				if got := l.nth(uint64(i)); got != number {
					t.Fatalf("number %d of %d is %d, want %d", i, len(want), got, number)
				}
			}
			if bytes := 8 * (len(l.words) + len(l.countBefore)); bytes > int(n)/6+24 {
				t.Errorf("the snapshot needs %d bytes for %d possible numbers", bytes, n)
			}
		}
	}
}
