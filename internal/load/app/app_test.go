package app

import (
	"slices"
	"testing"
	"time"
)

// Calls are sorted by due time. Calls with equal due times keep the order in which they were added,
// and calls outside the window are omitted.
func TestTimelineIsInItsOrder(t *testing.T) {
	line := Timeline[string]{Length: time.Second}
	for _, e := range []struct {
		at   time.Duration
		call string
	}{{5, "b"}, {time.Second, "behind"}, {1, "a"}, {-1, "before"}, {5, "c"}} {
		line.Add(e.at, e.call)
	}
	due, calls := line.Sorted()
	if !slices.Equal(due, []int64{1, 5, 5}) || !slices.Equal(calls, []string{"a", "b", "c"}) {
		t.Errorf("%v are due at %v", calls, due)
	}
}

func TestNumbersAreReadAsWritten(t *testing.T) {
	for _, n := range []uint32{0, 7, 99_999, 999_999} {
		text := AppendNumber([]byte("x"), n)
		if got, ok := ReadNumber(text[1:]); !ok || got != n || len(text) != 1+Digits {
			t.Errorf("%d is written as %q and read as %d", n, text, got)
		}
	}
	if n, ok := ReadNumber([]byte("12a")); ok {
		t.Errorf("12a is read as %d", n)
	}
}

// A UUID is read as it was written. Other text is rejected.
func TestUUIDsAreReadAsWritten(t *testing.T) {
	const name = "f0e1d2c3-0000-4a5b-8c7d-00ff1234abcd"
	high, low := ParseUUID([]byte(name))
	if got := string(AppendUUID([]byte("x"), high, low)); got != "x"+name {
		t.Errorf("x%s is written as %s", name, got)
	}
	for _, wrong := range []string{"", "f0e1d2c3", name + "0", "F" + name[1:], "f0e1d2c30000-4a5b-8c7d-00ff1234abcd-", "f0e1d2c3-0000-4a5b-8c7d-00ff1234abc-"} {
		if high, low := ParseUUID([]byte(wrong)); high != 0 || low != 0 {
			t.Errorf("%q is read as a UUID with the halves %d and %d, want 0 and 0", wrong, high, low)
		}
	}
}
