package verify

import (
	"strings"
	"testing"
)

// cut is a history from which operations may be missing. All missing operations began at the time
// in the field `from`, or later.
type cut struct {
	*memory
	from int64
}

func (c cut) CompleteUntil() int64 { return c.from }

// TestMissingOperationsCauseNoFindings checks that a response causes no finding if missing
// operations may explain it, and that other violations are still found.
func TestMissingOperationsCauseNoFindings(t *testing.T) {
	m := line(put(11, 1), get(11, 0, 0), put(12, 2), get(13, 13, 7))
	for from, want := range map[int64]int{0: 0, 2e9: 0, 25e8: 0, 3e9: 1, 45e8: 1, 1 << 62: 2} {
		r, err := Check(cut{m, from}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, count := range r.WrongByKind {
			n += int(count)
		}
		if n != want {
			t.Errorf("missing operations began at %d; violations: %v", from, r.WrongByKind)
		}
		if said := strings.Contains(strings.Join(r.Undecided, " "), "incomplete history"); said != (from < 5e9) {
			t.Errorf("missing operations began at %d; sentences: %q", from, r.Undecided)
		}
	}
	if r, err := Check(m, Options{}); err != nil || len(r.Undecided) > 0 || len(r.WrongByKind) == 0 {
		t.Error(r, err)
	}
}
