package storetest

import (
	"testing"
	"time"
)

// Ended waits for the result of a server that was asked to stop. It fails the test if the result is
// an error or does not arrive in time.
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
