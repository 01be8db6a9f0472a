// Package probe reads the counters of the disk, the machine, its processes and our own
// threads. It has no goroutine and no clock for counters: the caller asks when it wants
// them, and subtracts one reading from the next.
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

// FsyncResult is how fast, and whether at all, a folder makes writes durable.
type FsyncResult struct {
	// P50 and P99 are of one write and its sync. One that the sample does not
	// support (measure.MinBeyond) is not known.
	P50, P99   measure.Figure
	Count      int    // writes made
	FileSystem string // such as ext4; "unknown" with its number where it has no name here
	// Durable is false where nothing outlives a power cut, such as tmpfs.
	Durable bool
}

// fsyncRecord is the size in bytes of one write: about what a write-ahead log
// gets for a batch of small entries.
const fsyncRecord = 2300

// FsyncWrites is how many writes give a p99: ten of them lie beyond it.
const FsyncWrites = 1000

// fsyncBounds says when a measurement has enough: after most writes, or after
// soft if least were made by then; after hard whatever was.
type fsyncBounds struct {
	most, least int
	soft, hard  time.Duration
}

// boundsOf bounds a measurement of at most n writes. A disk that makes fewer
// than 100 in 3 s is given longer: below that not even a p90 is known.
func boundsOf(n int) fsyncBounds {
	return fsyncBounds{most: n, least: 100, soft: 3 * time.Second, hard: 10 * time.Second}
}

// more reports whether another write is to be made after so many, of which
// there is one at least.
func (b fsyncBounds) more(made int, elapsed time.Duration) bool {
	switch {
	case made == 0:
		return true
	case made >= b.most || elapsed >= b.hard:
		return false
	}
	return made < b.least || elapsed < b.soft
}

// Fsync measures up to n synced writes in a folder. It stops early after 3 s. Its error
// is ctx's when that ends.
func Fsync(ctx context.Context, dir *os.Root, n int) (result FsyncResult, err error) {
	if n < 1 {
		return result, fmt.Errorf("fdatasync cannot be measured with %d writes", n)
	}
	took := make([]int64, 0, n)
	bounds := boundsOf(n)
	result.FileSystem, result.Durable, err = syncedWrites(dir, fsyncRecord, n, func(_, whole time.Duration) {
		took = append(took, int64(whole))
	}, func(elapsed time.Duration) bool {
		return ctx.Err() == nil && bounds.more(len(took), elapsed)
	})
	if err != nil {
		return result, err
	}
	slices.Sort(took)
	result.Count = len(took)
	result.P50, result.P99 = nearestRank(took, 50), nearestRank(took, 99)
	return result, ctx.Err()
}

// syncedWrites writes records one after the other at the end of a preallocated
// new file in dir, each followed by fdatasync, as a write-ahead log does, while more
// says so: at most so many. took gets the time of each sync, and of its write and
// the sync. The records are random, so that no file system or disk can leave them
// out or make them small. The file is removed.
func syncedWrites(dir *os.Root, record, most int, took func(sync, whole time.Duration), more func(elapsed time.Duration) bool) (fs string, durable bool, err error) {
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
		_, _ = rand.Read(random) // never fails, and is in nobody's time
		before := time.Now()
		if _, err := f.Write(random); err != nil {
			return fs, durable, fsyncError(dir, err)
		}
		written := time.Now()
		if err := fdatasync(f); err != nil {
			return fs, durable, fsyncError(dir, err)
		}
		done := time.Now()
		took(done.Sub(written), done.Sub(before))
	}
	return fs, durable, nil
}

// nearestRank is the smallest value with at least p percent at or below it; not
// known where fewer than measure.MinBeyond lie beyond that.
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
	return fmt.Errorf("fdatasync cannot be measured in %s: %w", dir.Name(), err)
}

// Device is the number of the device that a folder lies on: what is measured in
// one folder holds for all that have the same.
func Device(dir string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, fmt.Errorf("the folder %s cannot be looked at: %w", dir, err)
	}
	return uint64(s.Dev), nil
}
