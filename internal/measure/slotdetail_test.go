package measure

import "testing"

// If an event's write becomes known only in a later second, the event counts as arrived in the
// earlier second, and as late in the later second.
func TestEventOfAnEarlierSecondIsOnlyLate(t *testing.T) {
	var f SlotDetail
	f.CountEvent(300_000_000, -50_000_000)
	f.CountEvent(-1, -50_000_000)
	f.CountEvent(-1, 70_000_000)
	w := f.Watch
	want := [16]uint64{1: 1 << (70 - 64)}
	if w.Alive != want {
		t.Errorf("events came in the milliseconds %x", w.Alive)
	}
	if len(w.Late) != 1 || w.Late[0] != (LateEvents{0, 1, 1}) || w.MaxDelay[0] != 300 {
		t.Errorf("the late events are %v, and the largest delay is %d ms", w.Late, w.MaxDelay[0])
	}
}
