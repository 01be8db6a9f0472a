package measure

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// If a window is interrupted, calls that had not started do not count as failures.
func TestInterruptedCallsAreNotFailures(t *testing.T) {
	c := NewCalls("create pod", kv.CAS, 0)
	c.Due = 1200
	for range 3 {
		c.CountEnded(kv.OK, 10, 5)
	}
	c.CountEnded(kv.NotSent, 10, 0)
	if c.DropUnstarted(); c.Due != 4 || c.Done() != 3 || c.Failed() != 1 {
		t.Errorf("of %d calls %d were done and %d failed", c.Due, c.Done(), c.Failed())
	}
}
