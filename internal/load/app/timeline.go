package app

import (
	"cmp"
	"slices"
	"time"
)

// Timeline collects the calls in a window in any order and sorts them by due time.
type Timeline[E any] struct {
	// Length is the length of the window. Calls that are due outside it are omitted.
	Length time.Duration
	all    []timed[E]
}

type timed[E any] struct {
	at   time.Duration
	call E
}

// Add adds a call that becomes due at the given time, counted from the start of the window.
func (t *Timeline[E]) Add(at time.Duration, call E) {
	if at >= 0 && at < t.Length {
		t.all = append(t.all, timed[E]{at, call})
	}
}

// Sorted returns the due time of each call, in nanoseconds since the start of the window, and
// the calls. Calls with the same due time keep the order in which they were added.
func (t *Timeline[E]) Sorted() (due []int64, calls []E) {
	slices.SortStableFunc(t.all, func(a, b timed[E]) int { return cmp.Compare(a.at, b.at) })
	due, calls = make([]int64, len(t.all)), make([]E, len(t.all))
	for i := range t.all {
		due[i], calls[i] = int64(t.all[i].at), t.all[i].call
	}
	return due, calls
}
