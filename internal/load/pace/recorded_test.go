package pace_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/pace"
)

// In a recorded schedule, due times never decrease, and each gap is the recorded gap divided by the
// speed. FirstDueAt is the inverse of Due.
func TestRecordedKeepsItsDistances(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		at := []int64{r.Int64N(1 << 40)}
		for range r.IntN(50) {
			at = append(at, at[len(at)-1]+r.Int64N(1<<30)*int64(r.IntN(2)))
		}
		speed := []float64{0.5, 1, 3}[r.IntN(3)]
		p := pace.NewRecorded(at, speed)
		for n := range at {
			if want := int64(float64(at[n]-at[0]) / speed); p.Due(uint64(n)) != want {
				t.Fatalf("operation %d is due at %d, want %d", n, p.Due(uint64(n)), want)
			}
		}
		end := p.Due(uint64(len(at)))
		if end <= p.Due(uint64(len(at)-1)) {
			t.Fatalf("the schedule ends at %d, not after its last operation", end)
		}
		for range 100 {
			when := r.Int64N(end + 2)
			first := p.Remainder(0, pace.Point{}).FirstDueAt(when)
			if p.Due(first) < when || first > 0 && p.Due(first-1) >= when {
				t.Fatalf("operation %d is not the first that is due at %d or later", first, when)
			}
		}
	}
}
