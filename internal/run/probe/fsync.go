// Package probe watches: what the disk, the machine, its processes and our own
// threads do. It has no goroutine and no clock of its own for counters: the
// caller asks when it wants a row, and subtracts one from the next.
package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"
)

// FsyncResult is how fast, and whether at all, a folder makes writes durable.
type FsyncResult struct {
	P50, P99   int64  // of one write and its sync, in nanoseconds
	Count      int    // writes made
	FileSystem string // such as ext4; "unknown" with its number where it has no name here
	// Durable is false where nothing outlives a power cut, such as tmpfs.
	Durable bool
}

// fsyncRecord is the size in bytes of one write: about what a write-ahead log
// gets for a batch of small entries.
const fsyncRecord = 2300

// fsyncTime bounds the measurement; at least fsyncLeast writes are made.
const (
	fsyncTime  = 500 * time.Millisecond
	fsyncLeast = 3
)

// Fsync writes n records one after the other at the end of a preallocated file
// in dir, each followed by fdatasync, as a write-ahead log does. It stops early
// after half a second. The file is removed.
func Fsync(dir string, n int) (result FsyncResult, err error) {
	if n < 1 {
		return result, fmt.Errorf("fdatasync cannot be measured with %d writes", n)
	}
	f, err := os.CreateTemp(dir, "quorumbench-fsync-")
	if err != nil {
		return result, fsyncError(dir, err)
	}
	defer func() {
		if closing := errors.Join(f.Close(), os.Remove(f.Name())); err == nil && closing != nil {
			err = fsyncError(dir, closing)
		}
	}()
	result.FileSystem, result.Durable = fileSystem(f)
	preallocate(f, int64(n)*fsyncRecord)
	if err := f.Sync(); err != nil {
		return result, fsyncError(dir, err)
	}
	took := make([]int64, 0, n)
	record := make([]byte, fsyncRecord)
	for begin := time.Now(); len(took) < n && (len(took) < fsyncLeast || time.Since(begin) < fsyncTime); {
		before := time.Now()
		if _, err := f.Write(record); err != nil {
			return result, fsyncError(dir, err)
		}
		if err := fdatasync(f); err != nil {
			return result, fsyncError(dir, err)
		}
		took = append(took, int64(time.Since(before)))
	}
	slices.Sort(took)
	result.Count = len(took)
	result.P50, result.P99 = nearestRank(took, 50), nearestRank(took, 99)
	return result, nil
}

// nearestRank is the smallest value with at least p percent at or below it.
func nearestRank(sorted []int64, p float64) int64 {
	return sorted[int(math.Ceil(p/100*float64(len(sorted))))-1]
}

func fsyncError(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("fdatasync cannot be measured in %s: %w", dir, err)
}
