package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	ops "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// historian records the operations of a load whose responses will be verified. It writes one file
// for each event loop.
type historian struct {
	t      *Trial
	dir    string
	header ops.Header

	mu    sync.Mutex
	files []*ops.Writer
	paths []string
	bytes int64 // total size of the closed files
	err   error
}

// newHistorian returns a historian for the load's responses, or nil if the responses are not
// verified.
func (t *Trial) newHistorian(ctx context.Context, m *members, dir string) *historian {
	if !t.Spec.Load.Verify {
		return nil
	}
	guaranteed := t.Cluster.Store.Guarantees()
	h := &historian{t: t, dir: dir, header: ops.Header{
		Store: t.Cluster.Store.Name(), Guarantees: guaranteed.Sources, VersionsCountWrites: guaranteed.VersionsCountWrites, Timeout: int64(t.Spec.Load.Timeout),
	}}
	if guaranteed.NoWriteRevisions {
		h.header.BaseRevision = m.newest(ctx)
	}
	return h
}

// recorder implements load.Reports.NewRecorder.
func (h *historian) recorder(zero time.Time, within time.Duration) *ops.Recorder {
	h.mu.Lock()
	defer h.mu.Unlock()
	head := h.header
	head.ClockError = int64(within)
	if h.header.Started.IsZero() {
		h.header.Started = zero
	}
	// The difference uses the monotonic clock if both times contain its reading.
	head.Started = h.header.Started.UTC().Add(zero.Sub(h.header.Started))
	path := filepath.Join(h.dir, ops.Name(len(h.paths)+1))
	w, err := ops.Create(path, &head)
	if err != nil {
		h.recordError(err)
		lost := ops.NewBlock()
		return &ops.Recorder{Take: func() *ops.Block { return lost }, Deliver: (*ops.Block).Reset}
	}
	h.files, h.paths = append(h.files, w), append(h.paths, path)
	return w.Recorder()
}

// recordError remembers the first error. The caller must hold mu.
func (h *historian) recordError(err error) {
	if h.err == nil {
		h.err = err
	}
}

// firstError returns the first error.
func (h *historian) firstError() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// reports returns the function that gives the load's loops their recorders. It returns nil if the
// responses are not verified.
func (h *historian) reports() load.RecorderFactory {
	if h == nil {
		return nil
	}
	return h.recorder
}

// close closes the files and returns the first error. If complete is true, close marks the files as
// complete. Further calls have no effect.
func (h *historian) close(complete bool) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.files {
		end := w.Close
		if !complete {
			end = w.CloseIncomplete
		}
		if err := end(); err != nil {
			h.recordError(err)
		}
		h.bytes += w.Bytes()
	}
	h.files = nil
	return h.err
}

// verifyAnswers reads all keys from each member and verifies the responses. It is called after the
// load has ended and its faults are healed. It returns nil if the responses are not verified.
func (h *historian) verifyAnswers(ctx context.Context, m *members, assignment *load.Assignment, res *load.Result) *record.Verification {
	if h == nil {
		return nil
	}
	complete := !slices.ContainsFunc(res.Measured.Parts, func(p measure.Part) bool { return p.Lost != "" })
	if err := h.close(complete); err != nil {
		return &record.Verification{Failure: err.Error(), Bytes: h.bytes}
	}
	var keyNumbers []uint64
	if complete && !h.t.Spec.Load.Preload {
		keyNumbers = h.written(ctx)
	}
	read := h.readMembers(ctx, m, assignment, keyNumbers)
	if err := h.close(true); err != nil {
		return &record.Verification{Failure: err.Error(), Members: read, Bytes: h.bytes}
	}
	a, err := h.verify(ctx)
	switch {
	case ctx.Err() != nil:
		a = &record.Verification{Failure: "the run was interrupted before its responses were verified; to verify the recorded part of the history, use quorumbench verify"}
	case err != nil:
		a = &record.Verification{Failure: err.Error()}
	}
	a.Members, a.Bytes, a.SharesDisk = read, h.bytes, sharesDisk(h.dir, h.t.Cluster.Members())
	if n := len(m.status().Members); m.total > n {
		a.Undecided = append(a.Undecided, fmt.Sprintf("after the load, quorumbench did not read %d of the cluster's %d members, because their endpoints were not specified or did not respond", m.total-n, m.total))
	}
	return a
}

// sharesDisk reports whether a member on this machine stores its data on the device of the folder
// dir, in which the history is stored.
func sharesDisk(dir string, members []cluster.Member) bool {
	own, err := probe.Device(dir)
	return err == nil && slices.ContainsFunc(members, func(m cluster.Member) bool {
		if _, apart := m.Host.(host.Remote); apart {
			return false
		}
		theirs, err := probe.Device(m.DataDir)
		return err == nil && theirs == own
	})
}

func (h *historian) verify(ctx context.Context) (*record.Verification, error) {
	h.t.report(Progress{Stage: StageVerifying})
	if h.t.VerifyResponses == nil {
		return nil, fmt.Errorf("the trial has no function that verifies its history")
	}
	return h.t.VerifyResponses(ctx, h.paths, func(_ int, operations uint64) {
		h.t.report(Progress{Stage: StageVerifying, Succeeded: operations})
	})
}

// errTooManyOperations reports that a history contains at least as many operations as the load has
// keys.
var errTooManyOperations = errors.New("as many operations as keys")

// written returns a bit set of the numbers of the keys that the load tried to write. It returns nil
// if the history contains at least as many operations as the load has keys, because reading such a
// history would take longer than reading all keys.
func (h *historian) written(ctx context.Context) []uint64 {
	set, err := ops.Open(h.paths...)
	if err != nil {
		return nil
	}
	n := h.t.Spec.Load.KeySpace
	keyNumbers, operations := make([]uint64, (n+63)/64), uint64(0)
	err = set.Read(func(all []ops.Op) error {
		if operations += uint64(len(all)); operations >= n {
			return errTooManyOperations
		}
		for i := range all {
			if o := &all[i]; o.Kind.Writes() && o.Key < n {
				keyNumbers[o.Key/64] |= 1 << (o.Key % 64)
			}
		}
		return ctx.Err()
	})
	if err != nil || len(set.Problems) > 0 {
		return nil
	}
	return keyNumbers
}

// readMembers reads keys from each member. It reads the keys in keyNumbers, or all keys if
// keyNumbers is nil.
func (h *historian) readMembers(ctx context.Context, m *members, assignment *load.Assignment, keyNumbers []uint64) (all []record.ReadMember) {
	own := h.t.Cluster.Store.Guarantees().MemberReadLevel
	status := m.status()
	h.t.report(Progress{Stage: "reading the members"})
	lagging, waited := m.catchUp(ctx, func() {
		h.t.report(Progress{Stage: fmt.Sprintf("waiting for the members to catch up, at most %v", catchUpTime)})
	})
	for i := range status.Members {
		if ctx.Err() != nil {
			return all
		}
		h.t.report(Progress{Stage: "reading the members"})
		endpoint := status.Members[i].Endpoint
		if without := h.t.Cluster.Store.Capabilities().NonVoters; status.Members[i].Role == kv.NonVoter && !without.ForwardsRequests {
			continue // reading from this member cannot reveal missing writes; a note in the trial's result mentions the member
		}
		read := record.ReadMember{Endpoint: endpoint}
		if lagging[i] {
			read.Failure = fmt.Sprintf("the member did not confirm within %v that it has every acknowledged write", waited.Round(time.Second))
			all = append(all, read)
			continue
		}
		a := h.t.newAssignment([]string{endpoint})
		if a.Members, a.Only = m.ids(), keyNumbers; a.Load.Application.Name != "" {
			a.Preloaded = assignment.Preloaded // Preloaded determines which keys exist in the load of an application
		}
		var err error
		// The load's workers perform the reads, because the controller may be unable to reach the
		// members.
		if read.Keys, err = h.t.Worker.ReadBack(ctx, a, own, h.recorder); err != nil {
			read.Failure = err.Error()
		}
		all = append(all, read)
	}
	return all
}

// remove closes and deletes the files of a load that did not begin.
func (h *historian) remove() {
	if h == nil {
		return
	}
	_ = h.close(false) // the files are empty
	for _, path := range h.paths {
		_ = os.Remove(path)
	}
}
