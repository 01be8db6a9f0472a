package probe

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// LogWrites is a measurement of a disk as a write-ahead log uses it: records
// written one after the other, each made durable before the next.
type LogWrites struct {
	Dir      string
	Record   int           // bytes of one write
	Records  int           // at most so many
	Duration time.Duration // at most so long
	// Progress gets now and then how far it is; nil for nobody.
	Progress func(records int, elapsed time.Duration)
}

// LogResult is what a disk did.
type LogResult struct {
	Records int
	Seconds float64 // from the first write to the last sync
	// Sync is fdatasync alone, Whole the write and its fdatasync, in
	// nanoseconds.
	Sync, Whole measure.Summary
	FileSystem  string
	Durable     bool // false where nothing outlives a power cut, such as tmpfs
	// Interrupted says that ctx ended before the bounds were reached.
	Interrupted bool
}

// progressEvery is how often LogWrites.Progress is called.
const progressEvery = 250 * time.Millisecond

// Run measures until the bounds are reached or ctx ends. Its error is a sentence.
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
