package trial

import (
	"context"
	"time"
)

// How often the trial's progress is reported, and how soon members are asked
// again for what they do not agree on yet.
const (
	progressEvery = 250 * time.Millisecond
	askEvery      = 100 * time.Millisecond
)

// pause waits, and reports false when ctx ended meanwhile.
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

// statusTimeout bounds asking a cluster how it is.
const statusTimeout = 3 * time.Second
