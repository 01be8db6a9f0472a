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
