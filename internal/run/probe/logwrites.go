package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// LogWrites measures a disk under the writes of a write-ahead log: each record is made durable
// before the next record is written.
type LogWrites struct {
	Dir         string        // a new folder in the folder that the user named
	RecordBytes int           // size of a record in bytes
	Records     int           // maximum number of records
	Duration    time.Duration // maximum duration
	// Progress is called at intervals. It may be nil.
	Progress func(records int, elapsed time.Duration)
}

// LogResult is the result of LogWrites.
type LogResult struct {
	Records int
	Seconds float64 // time from the first write to the last sync
	// Sync is the duration of fdatasync, and WriteAndSync is the duration of a write and its
	// fdatasync, both in nanoseconds.
	Sync, WriteAndSync measure.Summary
	FileSystem         string
	Durable            bool // false on a file system, such as tmpfs, that does not survive a power loss
	// Interrupted is set if ctx was canceled before a limit was reached.
	Interrupted bool
}

// progressInterval is the interval at which LogWrites.Progress is called.
const progressInterval = 250 * time.Millisecond

// Run measures until a limit is reached or ctx is canceled. The error is a complete sentence.
func (w *LogWrites) Run(ctx context.Context) (result LogResult, err error) {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return result, fmt.Errorf("cannot time fdatasync in %s: %w", w.Dir, err)
	}
	defer func() { _ = root.Close() }()
	// The file is preallocated. Dir is a temporary folder, so the error names the folder above it.
	if err := CheckRoom(root, int64(w.Records)*int64(w.RecordBytes), filepath.Dir(w.Dir), "use a smaller --size or fewer --records"); err != nil {
		return result, err
	}
	syncs, wholes := measure.NewHistogram(), measure.NewHistogram()
	var elapsed, shown time.Duration
	more := func(now time.Duration) bool {
		elapsed = now
		result.Interrupted = ctx.Err() != nil
		if result.Interrupted || result.Records >= w.Records || now >= w.Duration {
			return false
		}
		if w.Progress != nil && now-shown >= progressInterval {
			shown = now
			w.Progress(result.Records, now)
		}
		return true
	}
	result.FileSystem, result.Durable, err = syncedWrites(root, w.RecordBytes, w.Records, func(sync, whole time.Duration) {
		measure.Record(syncs, int64(sync))
		measure.Record(wholes, int64(whole))
		result.Records++
	}, more)
	result.Seconds = elapsed.Seconds()
	result.Sync, result.WriteAndSync = measure.Summarize(syncs, 0), measure.Summarize(wholes, 0)
	return result, err
}
