package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Limits on the comparison of the members' data.
const (
	hashTimeout   = 30 * time.Second
	hashRetryTime = 3 * time.Second // time within which all members must reach the same applied revision and the same compacted revision
)

// hashes asks all members for the hash of their data. It repeats the request until the hashes of
// all members cover the same revisions.
func (t *Trial) hashes(ctx context.Context, m *members) *record.Hashes {
	if !t.Spec.Load.CompareHashes {
		return nil
	}
	t.report(Progress{Stage: "comparing the members' data"})
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	hasher := m.admin.(store.Operator) // checked with the scenario
	for deadline := measure.Now().Add(hashRetryTime); ; {
		began := measure.Now()
		all, err := hasher.Hash(ctx)
		out := record.Hashes{Seconds: time.Since(began).Seconds(), Members: []record.MemberHash{}}
		switch {
		case errors.Is(context.Cause(ctx), context.Canceled):
			out.Failure = "the comparison was interrupted"
			return &out
		case errors.Is(err, store.ErrNotCaughtUp) && measure.Now().Before(deadline) && measure.Pause(ctx, pollInterval):
			continue
		case err != nil:
			out.Failure = err.Error()
			return &out
		}
		sizes := m.sizes()
		for _, h := range all {
			out.Members = append(out.Members, record.MemberHash{
				Endpoint: h.Endpoint, Hash: h.Hash, Revision: h.Revision, Compacted: h.Compacted, DBSize: sizes[h.Endpoint],
			})
		}
		switch {
		case sameRevision(all):
			return &out
		case measure.Now().After(deadline) || !measure.Pause(ctx, pollInterval):
			out.Failure = fmt.Sprintf("the members did not compact to the same revision within %v", hashRetryTime)
			return &out
		}
	}
}

// sameRevision reports whether all hashes have the same revision and the same compacted revision.
// Hashes can be compared only if it returns true.
func sameRevision(all []store.MemberHash) bool {
	for _, h := range all {
		if h.Revision != all[0].Revision || h.Compacted != all[0].Compacted {
			return false
		}
	}
	return true
}
