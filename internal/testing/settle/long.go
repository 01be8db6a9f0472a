package settle

import (
	"cmp"
	"hash/crc32"
	"os"
	"strconv"
	"testing"
)

// longEnv is the environment variable with which `make test-long` makes every test run all its
// cases.
const longEnv = "QUORUMBENCH_LONG"

// Long reports whether tests run all their cases, as in `make test-long`, or only a sample, as in
// CI.
func Long() bool { return os.Getenv(longEnv) != "" }

// LongOnly skips a test that only `make test-long` runs. The parameter `substitute` describes what
// CI tests in its place.
func LongOnly(t testing.TB, substitute string) {
	t.Helper()
	if !Long() {
		t.Skipf("make test-long runs it; CI runs %s", substitute)
	}
}

// Count returns the number of cases that a test runs. It reads this number from the given
// environment variable; if the variable is not set, the number is 1.
func Count(t testing.TB, variable string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), "1"))
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number above 0", variable, os.Getenv(variable))
	}
	return n
}

// Sample returns n of the given cases. The choice depends only on the test's name, so a test always
// runs the same cases, and different tests run different cases. If Long is true, Sample returns all
// cases.
//
// Example: if each of 25 tests runs with 2 of 7 stores, each store occurs in about 7 tests.
func Sample[T any](t testing.TB, n int, all []T) []T {
	if Long() || n >= len(all) {
		return all
	}
	first := int(crc32.ChecksumIEEE([]byte(t.Name())) % uint32(len(all)))
	some := make([]T, n)
	for i := range some {
		some[i] = all[(first+i*len(all)/n)%len(all)]
	}
	return some
}
