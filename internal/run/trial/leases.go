package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// revokeTimeout limits the time for revoking a load's leases.
const revokeTimeout = 30 * time.Second

// TTLs of a load's leases. Some leases are never kept alive, because they only own a lock, and
// others are kept alive at irregular intervals. Such leases must outlive the load.
const (
	leaseTTL     = 100 * time.Second // the same TTL as in etcd's benchmark
	openEndedTTL = 24 * time.Hour
)

// ttl returns a TTL for the load's leases. The TTL is so long that no lease expires during the
// load.
func ttl(l *scenario.Load) time.Duration {
	// In an open loop, each lease is kept alive at an interval that depends on the rate.
	turn := time.Duration(0)
	if l.Arrival != scenario.Closed && l.Rate.PerSecond > 0 {
		turn = time.Duration(float64(l.Clients) / l.Rate.PerSecond * float64(time.Second))
	}
	isKeepAlive := func(o scenario.Operation) bool { return o.Kind == kv.KeepAlive }
	d, known := l.EstimatedDuration()
	switch keptAlive := slices.ContainsFunc(l.Mix, isKeepAlive); {
	case keptAlive && len(l.Mix) == 1:
		return max(leaseTTL, 3*turn+l.Timeout)
	case !known:
		return openEndedTTL
	case keptAlive: // the mix also contains other operations, so the intervals are random
		return max(leaseTTL, 3*turn+l.Timeout, d+l.Timeout+leaseTTL)
	}
	return d + l.Timeout + leaseTTL
}

// grant grants the leases that the load needs. The caller must call release, no matter how the
// trial ends. release revokes the leases. If this fails, release returns a sentence for a note.
func (t *Trial) grant(ctx context.Context, a *load.Assignment, m *members) (release func() string, err error) {
	if !load.NeedsLeases(&t.Spec.Load, t.Cluster.Store.Capabilities()) {
		return func() string { return "" }, nil
	}
	t.report(Progress{Stage: "granting leases"})
	leaser := m.admin.(store.Leaser) // checked with the scenario
	live := ttl(&t.Spec.Load)
	t.Cluster.Guard.AnnounceLeases(t.Spec.Load.Clients, live)
	a.Leases, err = leaser.Grant(ctx, t.Spec.Load.Clients, live)
	granted := a.Leases
	a.LeaseNames = leaser.LeaseNames(granted)
	revoked := false
	release = func() string {
		if revoked || len(granted) == 0 {
			return ""
		}
		revoked = true
		ctx, cancel := context.WithTimeout(context.Background(), revokeTimeout)
		defer cancel()
		if err := leaser.Revoke(ctx, granted); err != nil {
			return fmt.Sprintf("cannot revoke the leases (they expire within %v): %v", live, err)
		}
		return ""
	}
	if err != nil {
		if note := release(); note != "" {
			err = fmt.Errorf("%w; %s", err, note)
		}
		return nil, err
	}
	return release, nil
}
