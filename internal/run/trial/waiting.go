package trial

import (
	"context"
	"time"
)

// How often the trial's progress is reported, and how soon members that disagree are asked
// again.
const (
	progressEvery = 250 * time.Millisecond
	askEvery      = 100 * time.Millisecond
)

// pause waits for d, and returns false if ctx ended first.
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

// statusTimeout bounds a request for a cluster's status.
const statusTimeout = 3 * time.Second
