package settle

import (
	"testing"
	"time"
)

// longest is how long Eventually waits: it only protects against hanging, on machines of
// any speed.
const longest = 3 * time.Minute

// Eventually polls until a condition holds, and fails the test if that takes too long. It
// must be called from the test's own goroutine.
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
