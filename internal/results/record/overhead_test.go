package record

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Of 1,000 operations sent 100 waited, for 1 to 100 ms.
func TestWaitedIsOfAllOperations(t *testing.T) {
	d := &measure.Disturbance{Own: measure.NewHistogram(), Waiting: measure.NewHistogram()}
	for i := range int64(1000) {
		measure.Record(d.Own, 1000)
		if i < 100 {
			measure.Record(d.Waiting, (i+1)*1e6)
		}
	}
	for p, want := range map[float64]float64{50: 0, 89: 0, 95: 50e6, 99: 90e6} {
		if got := waited(d, p); got < 0.98*want || got > 1.02*want {
			t.Errorf("p%v waited %v ns, want %v", p, got, want)
		}
	}
	if waited(&measure.Disturbance{}, 99) != 0 {
		t.Error("nothing waited")
	}
}

// Two processors that are idle for 5 % of their time each may be so one after
// the other: for 90 % of the time none is.
func TestConserved(t *testing.T) {
	yes, no := true, false
	busy, stolen := 0.76, 0.2
	shared := Trial{BusyShare: &busy, StolenShare: &stolen}
	shared.Shared, shared.Machine = &yes, &Machine{CPUs: 2}
	if got := shared.conserved(); got < 0.8999 || got > 0.9001 {
		t.Errorf("%v of the time was conserved", got)
	}
	shared.Machine = &Machine{CPUs: 64}
	if got := shared.conserved(); got != 0 {
		t.Errorf("%v of the time was conserved on 64 processors", got)
	}
	shared.Shared = &no
	shared.Machine.CPUs = 1
	if got := shared.conserved(); got != 0 {
		t.Errorf("%v of the time was conserved by members elsewhere", got)
	}
}
