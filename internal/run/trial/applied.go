package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of the wait for members that lack what others have. Consul's servers find each other
// again 30 to 60 s after a partition was healed. A member at which nothing listens any more
// is waited for as long as a restart takes.
const (
	catchUpTime = 2 * time.Minute
	restartTime = 10 * time.Second
)

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

// catchUp waits until each member says that it has what there was when it was called. It
// returns those that have not, and how long it waited. It calls slow while it takes long.
func (m *members) catchUp(ctx context.Context, slow func()) (behind map[int]bool, waited time.Duration) {
	applier, ok := m.admin.(store.Applier)
	if !ok {
		return nil, 0
	}
	newest := int64(0)
	for began := measure.Now(); ; {
		if newest == 0 {
			newest = m.newest(ctx)
		}
		behind = map[int]bool{}
		for i := range m.status().Members {
			if newest == 0 || !has(ctx, applier, i, newest) {
				behind[i] = true
			}
		}
		waited = measure.Now().Sub(began)
		if len(behind) == 0 || waited > catchUpTime || waited > restartTime && m.ended(ctx, behind) || !pause(ctx, askEvery) {
			return behind, waited
		}
		if waited > statusTimeout {
			slow()
		}
	}
}

// ended reports whether nothing listens at any of these members.
func (m *members) ended(ctx context.Context, these map[int]bool) bool {
	for i := range these {
		if !m.admin.Role(ctx, i).Gone {
			return false
		}
	}
	return true
}

// has reports whether a member says that it has applied all up to a revision.
func has(ctx context.Context, a store.Applier, i int, revision int64) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	applied, err := a.Applied(ctx, i)
	return err == nil && applied >= revision
}
