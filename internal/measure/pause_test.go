package measure

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Pause waits for exactly the given time, but ends at once if its context is canceled.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		for _, test := range []struct {
			pause, waited time.Duration
			want          bool
		}{{0, 0, true}, {2 * time.Second, 2 * time.Second, true}, {2 * time.Second, 3 * time.Second, false}, {0, 3 * time.Second, false}} {
			if got, waited := Pause(ctx, test.pause), time.Since(began); got != test.want || waited != test.waited {
				t.Errorf("Pause(%v) returns %v after %v, want %v after %v", test.pause, got, waited, test.want, test.waited)
			}
		}
	})
}
