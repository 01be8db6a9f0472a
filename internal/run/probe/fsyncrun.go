package probe

import (
	"context"
	"crypto/rand"
	"errors"
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
	// Watch is told now and then how far it is; nil for nobody.
	Watch func(records int, elapsed time.Duration)
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

// watchEvery is how often LogWrites.Watch is told.
const watchEvery = 250 * time.Millisecond

// Run writes to a preallocated file in Dir, which it removes, also when ctx
// ends. Its error is a sentence.
func (w *LogWrites) Run(ctx context.Context) (result LogResult, err error) {
	f, err := os.CreateTemp(w.Dir, "quorumbench-disk-")
	if err != nil {
		return result, fsyncError(w.Dir, err)
	}
	defer func() {
		if closing := errors.Join(f.Close(), os.Remove(f.Name())); err == nil && closing != nil {
			err = fmt.Errorf("the file of the measurement cannot be removed: %w", closing)
		}
	}()
	result.FileSystem, result.Durable = fileSystem(f)
	preallocate(f, int64(w.Records)*int64(w.Record))
	if err := f.Sync(); err != nil {
		return result, fsyncError(w.Dir, err)
	}
	return result, w.write(ctx, f, &result)
}

func (w *LogWrites) write(ctx context.Context, f *os.File, result *LogResult) error {
	syncs, wholes := measure.NewHistogram(), measure.NewHistogram()
	record := make([]byte, w.Record)
	began := time.Now()
	told := began
	for {
		now := time.Now()
		elapsed := now.Sub(began)
		if ctx.Err() != nil {
			result.Interrupted = true
			break
		}
		if result.Records >= w.Records || elapsed >= w.Duration {
			break
		}
		if w.Watch != nil && now.Sub(told) >= watchEvery {
			told = now
			w.Watch(result.Records, elapsed)
		}
		_, _ = rand.Read(record) // never fails; nothing that a disk could leave out or make small
		before := time.Now()
		if _, err := f.Write(record); err != nil {
			return fsyncError(w.Dir, err)
		}
		written := time.Now()
		if err := fdatasync(f); err != nil {
			return fsyncError(w.Dir, err)
		}
		done := time.Now()
		measure.Record(syncs, int64(done.Sub(written)))
		measure.Record(wholes, int64(done.Sub(before)))
		result.Records++
	}
	result.Seconds = time.Since(began).Seconds()
	result.Sync, result.Whole = measure.Summarize(syncs, 0), measure.Summarize(wholes, 0)
	return nil
}
