package storetest

import (
	"testing"
	"time"
)

// Ended waits for what a server that was asked to stop says at its end, and fails
// the test if that is an error or does not come: no test hangs for ever.
func Ended(t testing.TB, what string, said <-chan error) {
	t.Helper()
	select {
	case err := <-said:
		if err != nil {
			t.Errorf("%s ended with: %v", what, err)
		}
	case <-time.After(patience):
		t.Errorf("%s has not ended after %v", what, patience)
	}
}
