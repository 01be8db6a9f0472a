package trial

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// hasher returns the given lists of hashes one after the other, and then repeats the last list.
type hasher struct {
	plain
	store.Operator
	hashes [][]store.MemberHash
	err    error
	behind int    // number of requests for which a member is behind
	cancel func() // called in the first request; may be nil
}

func (h *hasher) Hash(context.Context) ([]store.MemberHash, error) {
	if h.cancel != nil {
		h.cancel()
	}
	if h.behind--; h.behind >= 0 {
		return nil, fmt.Errorf("b has not come to revision 9: %w", store.ErrNotCaughtUp)
	}
	all := h.hashes[0]
	if len(h.hashes) > 1 {
		h.hashes = h.hashes[1:]
	}
	return all, h.err
}

func TestHashesAwaitCompaction(t *testing.T) {
	of := func(compacted ...int64) (all []store.MemberHash) {
		for i, c := range compacted {
			all = append(all, store.MemberHash{Endpoint: string(rune('a' + i)), Hash: 7, Revision: 9, Compacted: c})
		}
		return all
	}
	tr := &Trial{}
	tr.Spec.Load.CompareHashes = true
	ctx, cancel := context.WithCancel(t.Context())
	ask := func(h *hasher) string { return tr.hashes(ctx, &members{admin: h}).Failure }
	if got := ask(&hasher{hashes: [][]store.MemberHash{of(1, 2), of(2, 2)}}); got != "" {
		t.Errorf("the comparison failed for a member that compacts a little later: %s", got)
	}
	if got := ask(&hasher{hashes: [][]store.MemberHash{of(2, 2)}, behind: 2}); got != "" {
		t.Errorf("the comparison failed for a member that applies a write a little later: %s", got)
	}
	if got := ask(&hasher{hashes: [][]store.MemberHash{nil}, err: errors.New("a does not answer")}); got != "a does not answer" {
		t.Errorf("the failure after an error is %s", got)
	}
	if got := ask(&hasher{hashes: [][]store.MemberHash{of(1, 2)}, cancel: cancel}); got != "the comparison was interrupted" {
		t.Errorf("the failure after an interruption is %s", got)
	}
}
