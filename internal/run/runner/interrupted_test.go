package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/trial"
)

// An interrupted run returns the interruption's error, joined with any error about keys that may
// remain.
func TestInterruptedRunReportsRemainingKeys(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left := &trial.KeysLeftError{Cause: errors.New("keys are left")}
	for _, test := range []struct {
		was  error
		want string
	}{
		{errors.New("the preload stopped"), "context canceled"},
		{errors.Join(errors.New("the preload stopped"), left), "context canceled\nkeys are left"},
	} {
		if err := interrupted(ctx, test.was); !errors.Is(err, context.Canceled) || err.Error() != test.want {
			t.Errorf("the error %v was converted to %v", test.was, err)
		}
	}
}
