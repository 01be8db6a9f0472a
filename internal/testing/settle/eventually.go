package settle

import (
	"testing"
	"time"
)

// eventuallyLimit limits the wait in Eventually, so that a failing test does not hang. It is long
// enough for slow machines.
const eventuallyLimit = 3 * time.Minute

// Eventually polls until a condition holds, and fails the test if the condition does not hold in
// time. It must be called from the test's own goroutine.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(eventuallyLimit)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("the condition was not met within %v: %s", eventuallyLimit, what)
		}
	}
}
