package app

import (
	"cmp"
	"slices"
	"time"
)

// Timeline collects the calls in a window in any order and sorts them by due time.
type Timeline[E any] struct {
	// Length is the length of the window. Calls that are due outside it are omitted.
	Length  time.Duration
	entries []timedCall[E]
}

type timedCall[E any] struct {
	at   time.Duration
	call E
}

// Add adds a call that becomes due at the given time, counted from the start of the window.
func (t *Timeline[E]) Add(at time.Duration, call E) {
	if at >= 0 && at < t.Length {
		t.entries = append(t.entries, timedCall[E]{at, call})
	}
}

// Sorted returns the due time of each call, in nanoseconds since the start of the window, and
// the calls. Calls with the same due time keep the order in which they were added.
func (t *Timeline[E]) Sorted() (due []int64, calls []E) {
	slices.SortStableFunc(t.entries, func(a, b timedCall[E]) int { return cmp.Compare(a.at, b.at) })
	due, calls = make([]int64, len(t.entries)), make([]E, len(t.entries))
	for i := range t.entries {
		due[i], calls[i] = int64(t.entries[i].at), t.entries[i].call
	}
	return due, calls
}
