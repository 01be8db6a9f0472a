package probe

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// LogWrites measures a disk as a write-ahead log uses it: it writes records one after the
// other, each made durable before the next.
type LogWrites struct {
	Dir      string
	Record   int           // size of a write in bytes
	Records  int           // greatest number of records
	Duration time.Duration // greatest duration
	// Progress is called at intervals; may be nil.
	Progress func(records int, elapsed time.Duration)
}

// LogResult is the result of LogWrites.
type LogResult struct {
	Records int
	Seconds float64 // from the first write to the last sync
	// Sync is the time of fdatasync, Whole that of the write and its fdatasync, in
	// nanoseconds.
	Sync, Whole measure.Summary
	FileSystem  string
	Durable     bool // false on a file system such as tmpfs that does not survive a power loss
	// Interrupted reports that ctx ended before a bound was reached.
	Interrupted bool
}

// progressEvery is the interval of LogWrites.Progress.
const progressEvery = 250 * time.Millisecond

// Run measures until a bound is reached or ctx ends. Its error is one sentence.
func (w *LogWrites) Run(ctx context.Context) (result LogResult, err error) {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return result, fmt.Errorf("fdatasync cannot be measured in %s: %w", w.Dir, err)
	}
	defer func() { _ = root.Close() }()
	syncs, wholes := measure.NewHistogram(), measure.NewHistogram()
	var elapsed, shown time.Duration
	more := func(now time.Duration) bool {
		elapsed = now
		result.Interrupted = ctx.Err() != nil
		if result.Interrupted || result.Records >= w.Records || now >= w.Duration {
			return false
		}
		if w.Progress != nil && now-shown >= progressEvery {
			shown = now
			w.Progress(result.Records, now)
		}
		return true
	}
	result.FileSystem, result.Durable, err = syncedWrites(root, w.Record, w.Records, func(sync, whole time.Duration) {
		measure.Record(syncs, int64(sync))
		measure.Record(wholes, int64(whole))
		result.Records++
	}, more)
	result.Seconds = elapsed.Seconds()
	result.Sync, result.Whole = measure.Summarize(syncs, 0), measure.Summarize(wholes, 0)
	return result, err
}
