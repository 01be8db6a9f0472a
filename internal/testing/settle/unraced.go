package settle

import "testing"

// Unraced skips a test under the race detector. It is for tests in which the detector cannot find a
// race, because they compute in one goroutine or in several that share nothing, but which it would
// make ten times as slow. It is also for tests that count allocations, because the detector
// allocates. `make unit` finds the callers and runs them without the detector.
func Unraced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("make unit runs it without the race detector")
	}
}

// Drawn returns the number of random cases for a test: raced under the race detector, otherwise
// all. `make unit` also runs the callers without the detector.
func Drawn(all, raced int) int {
	if Raced {
		return raced
	}
	return all
}
