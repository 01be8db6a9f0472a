// Package probe measures disks and reads counters about the machine, its processes and the threads
// of this process. Package probe takes no samples on its own: callers read the counters when they
// need them, and subtract successive readings.
package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// FsyncResult reports how fast a folder makes writes durable, and whether the folder's writes
// survive a power loss.
type FsyncResult struct {
	// P50 and P99 are percentiles of the time for one write and its sync. A percentile is unknown
	// if there are too few samples (measure.MinBeyond).
	P50, P99   measure.Figure
	Count      int    // number of writes
	FileSystem string // for example ext4, or "unknown" and the number of a file system without a known name
	// Durable is false on a file system, such as tmpfs, that does not survive a power loss.
	Durable bool
}

// fsyncRecord is the size of one write in bytes. It is roughly the size of a batch of small entries
// in a write-ahead log.
const fsyncRecord = 2300

// FsyncWrites is the number of writes that a p99 needs: ten of these writes are slower than the p99.
const FsyncWrites = 1000

// fsyncBounds contains the limits of a measurement. The measurement ends after `maxWrites` writes,
// after the time `softLimit` if at least `minWrites` writes were made, and after the time
// `hardLimit` in any case.
type fsyncBounds struct {
	maxWrites, minWrites int
	softLimit, hardLimit time.Duration
}

// newFsyncBounds returns the limits of a measurement of at most n writes. A disk that makes fewer
// than 100 writes in 3 s gets more time, because fewer writes would not even be enough for a p90.
func newFsyncBounds(n int) fsyncBounds {
	return fsyncBounds{maxWrites: n, minWrites: 100, softLimit: 3 * time.Second, hardLimit: 10 * time.Second}
}

// needsMore reports whether the measurement needs another write. writes is the number of writes so
// far. The measurement needs at least one write.
func (b fsyncBounds) needsMore(writes int, elapsed time.Duration) bool {
	switch {
	case writes == 0:
		return true
	case writes >= b.maxWrites || elapsed >= b.hardLimit:
		return false
	}
	return writes < b.minWrites || elapsed < b.softLimit
}

// Fsync times up to n synced writes in a folder. It makes fewer writes if n writes would take
// longer than 3 s. If ctx is canceled, Fsync returns ctx's error.
func Fsync(ctx context.Context, dir *os.Root, n int) (result FsyncResult, err error) {
	if n < 1 {
		return result, fmt.Errorf("cannot time fdatasync with %d writes", n)
	}
	took := make([]int64, 0, n)
	bounds := newFsyncBounds(n)
	result.FileSystem, result.Durable, err = syncedWrites(dir, fsyncRecord, n, func(_, whole time.Duration) {
		took = append(took, int64(whole))
	}, func(elapsed time.Duration) bool {
		return ctx.Err() == nil && bounds.needsMore(len(took), elapsed)
	})
	if err != nil {
		return result, err
	}
	slices.Sort(took)
	result.Count = len(took)
	result.P50, result.P99 = nearestRank(took, 50), nearestRank(took, 99)
	return result, ctx.Err()
}

// syncedWrites appends records to a new, preallocated file in dir as long as `more` returns true.
// Like a write-ahead log, it calls fdatasync after each record. syncedWrites preallocates space for
// `most` records. After each record, it calls recordTimes with the duration of the sync, and with
// the total duration of the write and the sync. The records are random, so that no file system or
// disk can deduplicate or compress them. At the end, syncedWrites removes the file.
func syncedWrites(dir *os.Root, record, most int, recordTimes func(sync, whole time.Duration), more func(elapsed time.Duration) bool) (fs string, durable bool, err error) {
	const name = "quorumbench-fsync"
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", false, fsyncError(dir, err)
	}
	defer func() {
		if closing := errors.Join(f.Close(), dir.Remove(name)); err == nil && closing != nil {
			err = fsyncError(dir, closing)
		}
	}()
	fs, durable = fileSystem(f)
	preallocate(f, int64(most)*int64(record))
	if err := f.Sync(); err != nil {
		return fs, durable, fsyncError(dir, err)
	}
	random := make([]byte, record)
	for begin := time.Now(); more(time.Since(begin)); {
		_, _ = rand.Read(random) // never fails; not timed
		before := time.Now()
		if _, err := f.Write(random); err != nil {
			return fs, durable, fsyncError(dir, err)
		}
		written := time.Now()
		if err := fdatasync(f); err != nil {
			return fs, durable, fsyncError(dir, err)
		}
		done := time.Now()
		recordTimes(done.Sub(written), done.Sub(before))
	}
	return fs, durable, nil
}

// nearestRank returns the smallest of the values such that at least p percent of the values are
// less than or equal to it. The result is unknown if fewer than measure.MinBeyond values are
// greater.
func nearestRank(sorted []int64, p int) measure.Figure {
	rank := (p*len(sorted) + 99) / 100
	if !measure.Supports(float64(p), uint64(len(sorted))) {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(sorted[rank-1]), Known: true}
}

func fsyncError(dir *os.Root, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot time fdatasync in %s: %w", dir.Name(), err)
}

// Device returns the number of the device on which a folder is stored. A measurement in one folder
// is valid for all folders on the same device.
func Device(dir string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, fmt.Errorf("cannot find the device of the folder %s: %w", dir, err)
	}
	return uint64(s.Dev), nil
}
