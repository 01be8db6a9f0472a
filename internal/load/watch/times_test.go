package watch

import (
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// If event loops read and write at the same time, a read returns either the times of the requested
// operation, or no times.
func TestTimesAreConsistentAcrossLoops(t *testing.T) {
	times := NewTimes(1)
	const n = 200_000
	var wg sync.WaitGroup
	for loop := range uint64(2) {
		wg.Go(func() {
			for i := loop; i < n; i += 2 {
				times.SetDue(measure.Measured, i, int64(2*i+1))
				times.SetSent(measure.Measured, i, int64(2*i+2))
				times.SetSent(measure.Measured, i+minEntries, 1) // unknown operation, so this is ignored
			}
		})
		wg.Go(func() {
			for i := range uint64(n) {
				if due, sent, ok := times.Lookup(measure.Measured, i); ok && (due != int64(2*i+1) || sent != int64(2*i+2)) {
					t.Errorf("operation %d was due at %d and sent at %d", i, due, sent)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, _, ok := times.Lookup(measure.Measured, n-1); !ok {
		t.Error("Lookup does not find the last operation")
	}
	if _, _, ok := times.Lookup(measure.Measured, 0); ok {
		t.Error("Lookup still finds the first operation")
	}
	times.SetDue(measure.Warmup, n-1, 5)
	if _, _, ok := times.Lookup(measure.Warmup, n-1); ok {
		t.Error("an operation that was not sent has a time")
	}
	if _, _, ok := times.Lookup(measure.Measured, n-1); !ok {
		t.Error("a warm-up operation overwrote a measured operation")
	}
}
