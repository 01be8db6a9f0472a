package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of the wait for members that lack acknowledged writes. Consul's servers find each
// other again 30 to 60 s after a partition was healed. A member whose port is closed is
// waited for only as long as a restart takes.
const (
	catchUpTime = 2 * time.Minute
	restartTime = 10 * time.Second
)

// newest returns the revision of the newest write, or 0 if it is unknown.
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

// catchUp waits until each member reports that it has every write that existed at the call.
// It returns the members that do not, and how long it waited. It calls slow repeatedly if
// the wait is long.
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
			if newest == 0 || !hasApplied(ctx, applier, i, newest) {
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

// ended reports whether the ports of all these members are closed.
func (m *members) ended(ctx context.Context, these map[int]bool) bool {
	for i := range these {
		if !m.admin.Role(ctx, i).Gone {
			return false
		}
	}
	return true
}

// hasApplied reports whether a member has applied all writes up to a revision.
func hasApplied(ctx context.Context, a store.Applier, i int, revision int64) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	applied, err := a.Applied(ctx, i)
	return err == nil && applied >= revision
}
