package null

import (
	"strings"
	"testing"
	"time"
)

func TestEventRules(t *testing.T) {
	s := parse(t, "watch=lose every 4; watch=duplicate every 6; watch=reorder every 10; watch=5ms every 7; watch=invent every 11")
	if !s.Immediate() {
		t.Error("a script with faults for events only is not immediate for operations")
	}
	if parse(t, "goaway every 3").Immediate() {
		t.Error("a script that closes connections is immediate")
	}
	for n, want := range map[uint64]EventFault{1: NoFault, 4: Lose, 6: Duplicate, 7: Postpone, 10: Reorder, 11: Invent, 12: Lose, 14: Postpone, 30: Duplicate} {
		if got, by := s.DecideEvent(n); got != want || (by == 5*time.Millisecond) != (want == Postpone) {
			t.Errorf("event %d: DecideEvent returned %v late by %v, want %v", n, got, by, want)
		}
	}
	for text, want := range map[string]string{
		"watch=drop every 3": `column 7: "drop" is not a fault of a watch event`,
		"watch=lose":         "the frequency is missing",
		"watch every 3":      `"=" is missing`,
	} {
		if _, err := Parse(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
