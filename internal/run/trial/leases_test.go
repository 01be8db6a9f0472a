package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// plain is a store.Admin without optional interfaces.
type plain struct{ store.Admin }

func (plain) Status(context.Context) (store.Status, error)    { return store.Status{}, nil }
func (plain) Members(context.Context) ([]store.Member, error) { return nil, nil }
func (plain) Close() error                                    { return nil }

// leases grants and records leases. It fails when the maximum is reached.
type leases struct {
	plain
	store.Leaser
	maxLeases     int
	open          []int64
	revoked       int
	failsToRevoke bool
}

func (l *leases) Grant(_ context.Context, n int, _ time.Duration) ([]int64, error) {
	for i := range min(n, l.maxLeases) {
		l.open = append(l.open, int64(i+1))
	}
	if n > l.maxLeases {
		return slices.Clone(l.open), errors.New("no more leases")
	}
	return slices.Clone(l.open), nil
}

func (l *leases) Revoke(_ context.Context, ids []int64) error {
	if l.failsToRevoke {
		return errors.New("no quorum")
	}
	l.revoked++
	l.open = slices.DeleteFunc(l.open, func(id int64) bool { return slices.Contains(ids, id) })
	return nil
}

func (*leases) LeaseNames([]int64) []string { return nil }

func keepAlive(clients int) scenario.Load {
	l := scenario.DefaultLoad()
	l.Mix, l.Clients = []scenario.Operation{{Kind: kv.KeepAlive, Weight: 1}}, clients
	return l
}

func TestLeasesAreRevoked(t *testing.T) {
	for name, c := range map[string]struct {
		maxLeases     int
		failsToRevoke bool
		fails, note   string
	}{
		"all granted":       {10, false, "", ""},
		"some granted":      {4, false, "no more leases", ""},
		"revocation fails":  {10, true, "", "cannot revoke the leases (they expire within 1m40s): no quorum"},
		"both of them fail": {4, true, "no more leases; cannot revoke the leases", ""},
	} {
		l := &leases{maxLeases: c.maxLeases, failsToRevoke: c.failsToRevoke}
		tr := &Trial{Spec: scenario.Trial{Load: keepAlive(10)}, Cluster: Cluster{Store: etcd.New()}}
		var a load.Assignment
		release, err := tr.grant(t.Context(), &a, &members{admin: l})
		if (err == nil) != (c.fails == "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if len(l.open) > 0 != c.failsToRevoke {
				t.Errorf("%s: after the failure, the leases %v are left", name, l.open)
			}
			continue
		}
		if len(a.Leases) != 10 {
			t.Errorf("%s: the assignment has the leases %v", name, a.Leases)
		}
		if note := release(); note != c.note || c.note == "" && len(l.open) > 0 {
			t.Errorf("%s: the note is %q, and the leases %v are left", name, note, l.open)
		}
		if release(); l.revoked > 1 {
			t.Errorf("%s: the leases were revoked %d times", name, l.revoked)
		}
	}
}

func TestLeasesLiveAsLongAsTheLoad(t *testing.T) {
	closed := keepAlive(1000)
	slow := keepAlive(1000)
	slow.Arrival, slow.Rate.PerSecond = scenario.Constant, 2
	locked := keepAlive(5)
	locked.Mix[0].Kind, locked.STM = kv.STM, &scenario.STM{Locker: kv.LockRPC}
	locked.Duration = time.Hour
	total := locked
	total.Duration, total.Total = 0, 10
	mixed := keepAlive(1000)
	mixed.Mix = append(mixed.Mix, scenario.Operation{Kind: kv.Put, Weight: 99})
	mixed.Duration = time.Hour
	slowMix, totalMix := mixed, mixed
	slowMix.Arrival, slowMix.Rate.PerSecond, slowMix.Duration = scenario.Constant, 2, time.Minute
	totalMix.Duration, totalMix.Total = 0, 10
	for name, c := range map[string]struct {
		load  scenario.Load
		least time.Duration
	}{
		"closed": {closed, leaseTTL}, "each every 500 s": {slow, 1500 * time.Second}, "a lock for an hour": {locked, time.Hour}, "a lock for long": {total, openEndedTTL},
		"a mix for an hour": {mixed, time.Hour + leaseTTL}, "a slow mix": {slowMix, 1500 * time.Second}, "a mix for long": {totalMix, openEndedTTL},
	} {
		if got := ttl(&c.load); got < c.least {
			t.Errorf("%s: the TTL is %v, want at least %v", name, got, c.least)
		}
	}
}
