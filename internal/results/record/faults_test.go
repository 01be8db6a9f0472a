package record

import "testing"

// An event belongs to a fault if it occurred during the fault, or shortly before or after it.
func TestEventsBelongToNearbyFaults(t *testing.T) {
	all := []Fault{{BeganAt: new(5.0), HealedAt: new(7.0), RecoveredAt: new(7.0)}, {BeganAt: new(20.0)}}
	for at, want := range map[float64]bool{3.9: false, 4.1: true, 6: true, 7.9: true, 8.1: false, 18.9: false, 19.1: true, 900: true} {
		if InFault(all, at) != want {
			t.Errorf("InFault at %v s is %v", at, !want)
		}
	}
	if !OverlapsFault(all, 1, 4.5) || OverlapsFault(all, 8.5, 18) || !InRecoveredFault(all, 6) || InRecoveredFault(all, 30) {
		t.Error("OverlapsFault or InRecoveredFault is wrong")
	}
}
