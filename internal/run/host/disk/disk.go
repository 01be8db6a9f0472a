// Package disk mounts a FUSE file system on a member's data folder. The file system stores
// everything in a backing folder next to the data folder. On request, it simulates a bad disk: slow
// syncs, a full disk, failed writes, or a power loss that loses data which was not synced. The
// simulated power loss is based on the idea of LazyFS (Ramos et al., "When Amnesia Strikes:
// Understanding and Reproducing Data Loss Bugs with Fault Injection", VLDB 2024). LazyFS caches
// data that is not synced yet. This package instead saves the old data that is overwritten, so that
// reads and writes go directly to the backing folder.
//
// After a power loss, a file has the contents and the size that it had at its last successful sync
// (fsync, fdatasync, or a write to a file opened with O_SYNC or O_DSYNC). A file that was never
// synced is empty or missing. A change of names (create, rename, remove, link) survives if any file
// or folder was synced afterwards, because a journaling file system such as ext4 or XFS commits all
// changes of names together. Owners, permissions, times and extended attributes always survive.
// After some time, a kernel writes data back to the disk even without a sync. Data that was written
// back survives like synced data.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Faults are the injected faults of a disk. The zero value is a healthy disk.
type Faults struct {
	// SyncDelay is the additional duration of each sync. It must not be negative.
	SyncDelay time.Duration `json:"sync_delay_ns,omitempty"`
	// Full makes every operation that needs more space fail with ENOSPC. Overwriting existing data
	// still succeeds.
	Full bool `json:"full,omitempty"`
	// Failing makes every write and sync fail with EIO. Data that was not synced before remains
	// unsynced.
	Failing bool `json:"failing,omitempty"`
	// Lying makes every sync report success without syncing anything.
	Lying bool `json:"lying,omitempty"`
}

// request is a command to the process that serves the disk. It is sent as one line of JSON.
type request struct {
	Set       *Faults `json:"set,omitempty"`
	WriteBack bool    `json:"write_back,omitempty"`
	PowerLoss bool    `json:"power_loss,omitempty"`
}

// Serve mounts a disk on the folder `mountPoint`, which must exist and be empty. It stores the
// disk's files in subfolders of the folder `backing`. Serve first writes an answer to the writer
// `out`, which reports whether the disk was mounted. Then it executes requests from the reader `in`
// until the end of this input, and unmounts the disk. The files remain in the subfolders.
func Serve(mountPoint, backing string, in io.Reader, out io.Writer) error {
	d, err := mount(mountPoint, backing)
	answers := json.NewEncoder(out)
	if saying := answers.Encode(helper.NewAnswer(err)); err != nil || saying != nil {
		if err == nil {
			err = d.unmount()
		}
		return errors.Join(err, saying)
	}
	requests := json.NewDecoder(in)
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("cannot read a request to the disk at %s: %w", mountPoint, err)
				return errors.Join(err, d.unmount())
			}
			return d.unmount()
		}
		if err := answers.Encode(d.do(&r)); err != nil {
			return errors.Join(err, d.unmount())
		}
	}
}

// do executes a request.
func (d *disk) do(r *request) helper.Answer {
	if r.Set != nil {
		d.faults.Store(r.Set)
	}
	if r.WriteBack {
		return helper.NewAnswer(d.writeBack())
	}
	if !r.PowerLoss {
		return helper.Answer{}
	}
	lost, err := d.powerLoss()
	a := helper.NewAnswer(err)
	a.DamagedFiles = lost
	return a
}
