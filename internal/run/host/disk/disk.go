// Package disk is a file system of ours below a member's data folder. It passes
// everything on to a folder beside it, and behaves like a bad disk on request: syncs
// are slow, there is no room left, writing fails, or the power goes and what was not
// synced is gone. The idea of the last is that of LazyFS (Ramos et al., "When Amnesia
// Strikes: Understanding and Reproducing Data Loss Bugs with Fault Injection", VLDB
// 2024); what is kept here is not the data that was not synced but what it replaced,
// so that reading and writing go straight to the folder beside.
//
// What survives a power loss: a file's contents and size as of its last sync that
// succeeded (fsync, fdatasync, or a write to a file opened with O_SYNC or O_DSYNC),
// and names (created, renamed, removed, linked) as of the last sync of anything in the
// folder, because a journalling file system commits them together (ext4, XFS). A file
// that never was synced is empty, or not there. Owners, permissions, times and extended
// attributes survive in any case. What was written back, as a kernel does after some
// time, survives as if it had been synced.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Faults are what is wrong with a disk. The zero value is a disk in order.
type Faults struct {
	// SyncDelay is by how much each sync takes longer, 0 or more.
	SyncDelay time.Duration `json:"sync_delay_ns,omitempty"`
	// Full has everything that needs more room fail with ENOSPC. What replaces
	// contents that are there succeeds.
	Full bool `json:"full,omitempty"`
	// Failing has every write and every sync fail with EIO. What was written before
	// and not synced is still not synced.
	Failing bool `json:"failing,omitempty"`
	// Lying has every sync succeed and nothing be synced.
	Lying bool `json:"lying,omitempty"`
}

// request is what a disk is asked for, as one line of JSON.
type request struct {
	Set       *Faults `json:"set,omitempty"`
	WriteBack bool    `json:"write_back,omitempty"`
	PowerLoss bool    `json:"power_loss,omitempty"`
}

// Serve makes the folder at, which must be there and empty, a disk that keeps its
// files below beside, and does what comes in until in ends: then the disk is gone, and
// what is below beside stays. Its first answer says whether the disk is there.
func Serve(at, beside string, in io.Reader, out io.Writer) error {
	d, err := mount(at, beside)
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
				err = fmt.Errorf("what the disk at %s is to do cannot be read: %w", at, err)
				return errors.Join(err, d.unmount())
			}
			return d.unmount()
		}
		if err := answers.Encode(d.do(&r)); err != nil {
			return errors.Join(err, d.unmount())
		}
	}
}

// do does what is asked for.
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
