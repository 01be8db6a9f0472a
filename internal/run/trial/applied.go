package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/steady"
	"github.com/quorumbench/quorumbench/internal/store"
)

// catchUpTime is for how long members are waited for that lack what others have.
const catchUpTime = 10 * time.Second

// newest is the revision of the newest write, 0 where that is not known.
func (m *members) newest(ctx context.Context) int64 {
	applier, ok := m.admin.(store.Applier)
	if !ok {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	revision, err := applier.Newest(ctx)
	if err != nil {
		return 0
	}
	return revision
}

// catchUp waits until each member says that it has what there was when it was
// called. It returns those that have not.
func (m *members) catchUp(ctx context.Context) (behind map[int]bool) {
	applier, ok := m.admin.(store.Applier)
	if !ok {
		return nil
	}
	newest := int64(0)
	for till := steady.Now().Add(catchUpTime); ; {
		if newest == 0 {
			newest = m.newest(ctx)
		}
		behind = map[int]bool{}
		for i := range m.status().Members {
			if newest == 0 || !has(ctx, applier, i, newest) {
				behind[i] = true
			}
		}
		if len(behind) == 0 || steady.Now().After(till) || !pause(ctx, askEvery) {
			return behind
		}
	}
}

// has reports whether a member says that it has applied all up to a revision.
func has(ctx context.Context, a store.Applier, i int, revision int64) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	applied, err := a.Applied(ctx, i)
	return err == nil && applied >= revision
}
