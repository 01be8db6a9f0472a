package app

import (
	"cmp"
	"slices"
	"time"
)

// Timeline gathers the calls of a window, in any order, and puts them in the order in
// which they become due.
type Timeline[E any] struct {
	// Length is the window's: what would be due before it or behind it is left out.
	Length time.Duration
	all    []timed[E]
}

type timed[E any] struct {
	at   time.Duration
	call E
}

// Add has a call become due at a time since the window opened.
func (t *Timeline[E]) Add(at time.Duration, call E) {
	if at >= 0 && at < t.Length {
		t.all = append(t.all, timed[E]{at, call})
	}
}

// Sorted is when each call is due, in nanoseconds since the window opened, and what it
// is. Calls that are due at one time stay in the order in which they were added.
func (t *Timeline[E]) Sorted() (due []int64, calls []E) {
	slices.SortStableFunc(t.all, func(a, b timed[E]) int { return cmp.Compare(a.at, b.at) })
	due, calls = make([]int64, len(t.all)), make([]E, len(t.all))
	for i := range t.all {
		due[i], calls[i] = int64(t.all[i].at), t.all[i].call
	}
	return due, calls
}
