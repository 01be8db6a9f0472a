// Package disk mounts a FUSE file system over a member's data folder. It passes everything
// on to a backing folder next to it, and behaves like a bad disk on request: syncs are
// slow, the disk is full, writes fail, or the power fails and data that was not synced is
// lost. The simulated power loss follows LazyFS (Ramos et al., "When Amnesia Strikes:
// Understanding and Reproducing Data Loss Bugs with Fault Injection", VLDB 2024). LazyFS
// keeps the data that was not synced; this package keeps the data that was replaced, so
// that reads and writes go straight to the backing folder.
//
// These survive a power loss: a file's contents and size as of its last successful sync
// (fsync, fdatasync, or a write to a file opened with O_SYNC or O_DSYNC), and names
// (created, renamed, removed, linked) as of the last sync of anything in the folder,
// because a journalling file system commits them together (ext4, XFS). A file that was
// never synced is empty or missing. Owners, permissions, times and extended attributes
// always survive. Data that was written back, as a kernel does after some time, survives as
// if it had been synced.
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
	// SyncDelay is added to the time of each sync; it is not negative.
	SyncDelay time.Duration `json:"sync_delay_ns,omitempty"`
	// Full makes every operation that needs more space fail with ENOSPC. Overwriting
	// existing contents still succeeds.
	Full bool `json:"full,omitempty"`
	// Failing makes every write and sync fail with EIO. Data that was not synced before
	// stays unsynced.
	Failing bool `json:"failing,omitempty"`
	// Lying makes every sync report success without syncing anything.
	Lying bool `json:"lying,omitempty"`
}

// request is a command to the disk's process, one line of JSON.
type request struct {
	Set       *Faults `json:"set,omitempty"`
	WriteBack bool    `json:"write_back,omitempty"`
	PowerLoss bool    `json:"power_loss,omitempty"`
}

// Serve mounts a disk on the folder at, which must exist and be empty, and keeps its files
// below folder. It executes requests from in until in ends; then it unmounts the disk and
// leaves the files below folder. Its first answer reports whether the disk was mounted.
func Serve(at, folder string, in io.Reader, out io.Writer) error {
	d, err := mount(at, folder)
	answers := json.NewEncoder(out)
	if saying := answers.Encode(helper.AnswerOf(err)); err != nil || saying != nil {
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
				err = fmt.Errorf("a request to the disk at %s cannot be read: %w", at, err)
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
		return helper.AnswerOf(d.writeBack())
	}
	if !r.PowerLoss {
		return helper.Answer{}
	}
	lost, err := d.powerLoss()
	a := helper.AnswerOf(err)
	a.Lost = lost
	return a
}
