package settle

import (
	"testing"
	"time"
)

// longest limits the wait in Eventually, so that a failing test does not hang. It is long enough
// for slow machines.
const longest = 3 * time.Minute

// Eventually polls until a condition holds, and fails the test if the condition does not hold in
// time. It must be called from the test's own goroutine.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(longest)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("after %v it is not so: %s", longest, what)
		}
	}
}
