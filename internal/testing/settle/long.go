package settle

import (
	"cmp"
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// longEnv is the variable with which `make test-long` runs every case of every test.
const longEnv = "QUORUMBENCH_LONG"

// Long reports whether the tests run all of their cases, as in `make test-long`, and not
// the sample for CI.
func Long() bool { return os.Getenv(longEnv) != "" }

// LongOnly skips a test that only `make test-long` runs; instead names what CI runs in its place.
func LongOnly(t testing.TB, instead string) {
	t.Helper()
	if !Long() {
		t.Skipf("make test-long runs it; CI runs %s", instead)
	}
}

// Count returns how many cases a test runs: as many as the variable says, or one.
func Count(t testing.TB, variable string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), "1"))
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, not a number above 0", variable, os.Getenv(variable))
	}
	return n
}

// Sample returns n of all cases, which the test's name chooses: a test runs the same cases on
// each day, and the tests of a package together run all of them. With Long it returns all.
//
// Example: of 25 tests over 7 stores each runs 2, and each store is in about 7 tests.
func Sample[T any](t testing.TB, n int, all []T) []T {
	if Long() || n >= len(all) {
		return all
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(t.Name())) // a hash never fails
	first := int(hash.Sum32() % uint32(len(all)))
	some := make([]T, n)
	for i := range some {
		some[i] = all[(first+i*len(all)/n)%len(all)]
	}
	return some
}
