package measure

import (
	"runtime"
	"testing"
	"weak"
)

// The results keep the totals longer than the load exists. The totals must not keep the collector
// in memory, and with it the load generator.
func TestTotalsDoNotKeepTheCollector(t *testing.T) {
	c := NewCollector(1)
	c.Add(0, &Second{Phase: Measured, Tally: Tally{Due: 1}})
	c.End(0)
	measured, _ := c.Close(1)
	gone := weak.Make(c)
	c = nil
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the collector lives on")
	}
	if measured.Due != 1 {
		t.Errorf("%d operations were due", measured.Due)
	}
}
