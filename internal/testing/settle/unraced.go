package settle

import "testing"

// Unraced skips a test under the race detector if the detector cannot find anything in it
// but makes it ten times as slow, because it computes in one goroutine, or in several that
// share nothing. It also skips tests of allocations, because the detector allocates. `make
// unit` finds the callers, and runs them without the detector.
func Unraced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("make unit runs it without the race detector")
	}
}

// Drawn returns how many random cases a test runs: under the race detector only a few,
// because `make unit` also runs all of them without it.
func Drawn(all, raced int) int {
	if Raced {
		return raced
	}
	return all
}
