package settle

import (
	"testing"
	"time"
)

// longest is how long Eventually waits: it guards against hanging alone, on however
// slow a machine.
const longest = 3 * time.Minute

// Eventually asks again and again until something is so, and fails the test when it
// does not come to be. It is called from the test's own goroutine.
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
