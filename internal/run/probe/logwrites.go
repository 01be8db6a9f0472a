package probe

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// LogWrites measures a disk under the writes of a write-ahead log: each record is made durable
// before the next record is written.
type LogWrites struct {
	Dir         string
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

// checkRoom returns an error if the file, which is preallocated, needs more than half of the file
// system's free space.
func (w *LogWrites) checkRoom(root *os.Root) error {
	p, err := Limits(root)
	if err != nil {
		return err
	}
	if need := int64(w.Records) * int64(w.RecordBytes); p.FreeBytes >= 0 && need > p.FreeBytes/2 {
		return fmt.Errorf("the writes need %s, and the same amount must remain free, but only %s are free in %s; use a smaller --size or fewer --records, or a folder with more free space",
			text.Bytes(uint64(need)), text.Bytes(uint64(p.FreeBytes)), w.Dir) // #nosec G115 -- neither is negative
	}
	return nil
}

// Run measures until a limit is reached or ctx is canceled. The error is a complete sentence.
func (w *LogWrites) Run(ctx context.Context) (result LogResult, err error) {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return result, fmt.Errorf("cannot time fdatasync in %s: %w", w.Dir, err)
	}
	defer func() { _ = root.Close() }()
	if err := w.checkRoom(root); err != nil {
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
