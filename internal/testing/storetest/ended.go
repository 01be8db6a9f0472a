package storetest

import (
	"testing"
	"time"
)

// AwaitEnd waits for the result of a server that was asked to stop. It fails the test if the result
// is an error or does not arrive in time.
func AwaitEnd(t testing.TB, what string, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		if err != nil {
			t.Errorf("%s ended with: %v", what, err)
		}
	case <-time.After(waitLimit):
		t.Errorf("%s did not end within %v", what, waitLimit)
	}
}
