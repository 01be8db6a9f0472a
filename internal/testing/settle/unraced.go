package settle

import "testing"

// Unraced skips a test under the race detector, which has nothing to find in it and
// makes it ten times as long: it computes in one goroutine, or in some that share
// nothing. So does a test of allocations, of which the detector makes some. `make unit`
// finds what calls it, and runs that without the detector.
func Unraced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("make unit runs it without the race detector")
	}
}

// Drawn is how many cases a test draws: under the race detector a few of all, which
// `make unit` has drawn without it.
func Drawn(all, raced int) int {
	if Raced {
		return raced
	}
	return all
}
