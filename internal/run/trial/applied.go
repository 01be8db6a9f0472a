package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Limits on the wait for members that lack acknowledged writes. The limit catchUpTime is long,
// because Consul's servers need 30 to 60 s to find each other again after a partition is healed.
// The limit restartTime applies if the ports of all members that lack writes are closed, and is as
// long as a restart takes.
const (
	catchUpTime = 2 * time.Minute
	restartTime = 10 * time.Second
)

// newest returns the revision of the latest write, or 0 if it is unknown.
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

// catchUp waits until every member reports that it has applied all writes that existed when catchUp
// was called. lagging contains the members that did not report this in time, and waited is the
// duration of the wait. If the wait is long, catchUp calls onSlow repeatedly.
func (m *members) catchUp(ctx context.Context, onSlow func()) (lagging map[int]bool, waited time.Duration) {
	applier, ok := m.admin.(store.Applier)
	if !ok {
		return nil, 0
	}
	newest := int64(0)
	for began := measure.Now(); ; {
		if newest == 0 {
			newest = m.newest(ctx)
		}
		lagging = map[int]bool{}
		for i := range m.status().Members {
			if newest == 0 || !hasApplied(ctx, applier, i, newest) {
				lagging[i] = true
			}
		}
		waited = measure.Now().Sub(began)
		if len(lagging) == 0 || waited > catchUpTime || waited > restartTime && m.portsClosed(ctx, lagging) || !measure.Pause(ctx, pollInterval) {
			return lagging, waited
		}
		if waited > statusTimeout {
			onSlow()
		}
	}
}

// portsClosed reports whether the ports of all the given members are closed.
func (m *members) portsClosed(ctx context.Context, indexes map[int]bool) bool {
	for i := range indexes {
		if !m.admin.Role(ctx, i).ProcessEnded {
			return false
		}
	}
	return true
}

// hasApplied reports whether the member with index i has applied all writes up to the given
// revision.
func hasApplied(ctx context.Context, a store.Applier, i int, revision int64) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	applied, err := a.Applied(ctx, i)
	return err == nil && applied >= revision
}
