package trial

import (
	"context"
	"time"
)

// progressInterval is the interval at which the trial's progress is reported. pollInterval is the
// interval at which members are asked again if they do not agree yet.
const (
	progressInterval = 250 * time.Millisecond
	pollInterval     = 100 * time.Millisecond
)

// pause waits for the duration d. It returns false if ctx is canceled before that time has passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// statusTimeout limits the duration of a request for a cluster's status.
const statusTimeout = 3 * time.Second
