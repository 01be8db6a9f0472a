package settle

import "testing"

// SkipUnderRace skips a test if the race detector is enabled. It is for tests that use a single
// goroutine, or several that share no data: the detector cannot find a race there, but makes the
// test ten times as slow. It is also for tests that count allocations, because the detector
// allocates memory. `make unit` finds the callers of SkipUnderRace and runs them without the
// detector.
func SkipUnderRace(t testing.TB) {
	t.Helper()
	if RaceEnabled {
		t.Skip("make unit runs it without the race detector")
	}
}

// RandomCases returns the number of random cases that a test runs: `underRace` if the race detector
// is enabled, otherwise `full`. `make unit` also runs the callers without the detector.
func RandomCases(full, underRace int) int {
	if RaceEnabled {
		return underRace
	}
	return full
}
