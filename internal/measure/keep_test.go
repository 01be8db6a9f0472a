package measure

import (
	"runtime"
	"testing"
	"weak"
)

// The results keep the totals after the load has ended. The totals must not keep the collector, and
// with it the load generator, in memory.
func TestTotalsDoNotKeepTheCollector(t *testing.T) {
	c := NewCollector(1)
	c.Add(0, &Second{Phase: Measured, Tally: Tally{Due: 1}})
	c.End(0)
	measured, _ := c.Close(1)
	gone := weak.Make(c)
	c = nil
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the collector was not released")
	}
	if measured.Due != 1 {
		t.Errorf("%d operations were due", measured.Due)
	}
}
