package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// What stands beside a load is bounded, too.
const (
	revokeTimeout  = 30 * time.Second
	compactTimeout = 5 * time.Second
	hashTimeout    = 30 * time.Second
	hashSettles    = 3 * time.Second // how long members may differ in what they have applied and compacted
)

// How long the leases of a load live if nobody keeps them alive. Those that are
// not kept alive, because they only own a lock, must outlive the load.
const (
	leaseTTL  = 100 * time.Second // as etcd's benchmark has it
	endlessly = 24 * time.Hour
)

// needsLeases reports whether the load's operations are of leases.
func needsLeases(l *scenario.Load) bool {
	for _, o := range l.Mix {
		if o.Kind == kv.KeepAlive || o.Kind == kv.STM && l.STM != nil && l.STM.Locker != kv.LockNone {
			return true
		}
	}
	return false
}

// ttl is how long a load's leases are to live: long enough that none ends while
// the load runs.
func ttl(l *scenario.Load) time.Duration {
	for _, o := range l.Mix {
		if o.Kind != kv.KeepAlive {
			continue
		}
		// In an open loop each has its turn every so often.
		turn := time.Duration(0)
		if l.Arrival != scenario.Closed && l.Rate.PerSecond > 0 {
			turn = time.Duration(float64(l.Clients) / l.Rate.PerSecond * float64(time.Second))
		}
		return max(leaseTTL, 3*turn+l.Timeout)
	}
	if d, known := l.EstimatedDuration(); known {
		return d + l.Timeout + leaseTTL
	}
	return endlessly
}

// grant grants the leases that the load needs. What release returns, is told
// whatever becomes of the trial, and revokes them; its sentence is for a note.
func (t *Trial) grant(ctx context.Context, a *load.Assignment, m *members) (release func() string, err error) {
	if !needsLeases(&t.Spec.Load) {
		return func() string { return "" }, nil
	}
	t.tell(Progress{Stage: "granting leases"})
	leaser := m.admin.(store.Leaser) // the scenario was refused without it
	live := ttl(&t.Spec.Load)
	a.Leases, err = leaser.Grant(ctx, t.Spec.Load.Clients, live)
	granted := a.Leases
	revoked := false
	release = func() string {
		if revoked || len(granted) == 0 {
			return ""
		}
		revoked = true
		ctx, cancel := context.WithTimeout(context.Background(), revokeTimeout)
		defer cancel()
		if err := leaser.Revoke(ctx, granted); err != nil {
			return fmt.Sprintf("leases were left behind, which end by themselves within %v: %v", live, err)
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

// watch writes what the load's watchers are to catch up with.
func (t *Trial) watch(ctx context.Context, a *load.Assignment) error {
	if t.Spec.Load.Watch == nil {
		return nil
	}
	w := *t.Spec.Load.Watch
	a.Load.Watch = &w
	if w.Expect == 0 || w.Start > 0 || len(w.Key) == 0 {
		return nil
	}
	var err error
	w.Start, err = t.Worker.WriteVersions(ctx, a)
	return err
}

// compact compacts the store again and again until ctx ends. What went wrong is
// a note: the load goes on.
func (w *watcher) compact(ctx context.Context) {
	what := w.t.Spec.Load.Compact
	if what.Every <= 0 {
		return
	}
	load.Background()
	compactor := w.m.admin.(store.Maintainer) // the scenario was refused without it
	for pause(ctx, what.Every) {
		began := time.Now()
		asked, cancel := context.WithTimeout(ctx, compactTimeout)
		revision, err := compactor.CompactBehind(asked, what.Behind)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if w.uncompacted++; w.uncompactedWhy == "" {
				w.uncompactedWhy = err.Error()
			}
		case revision > 0:
			_ = w.out.Event(record.Event{ // an error stays in the writer
				Time: time.Now(), Kind: "compaction_asked", Duration: time.Since(began),
				Text: fmt.Sprintf("quorumbench had the store compact its history up to revision %d", revision),
			})
		}
	}
}

// notes are what the watcher has to tell at the end.
func (w *watcher) notes() []string {
	if w.uncompacted == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d compactions beside the load failed; the first: %s", w.uncompacted, w.uncompactedWhy)}
}

// made records how long the watchers' creation took.
func (w *watcher) made(m *measure.Totals) error {
	t := m.Watching
	if t == nil || t.Created == nil {
		return nil
	}
	phase := measure.Measured
	if watch := w.t.Spec.Load.Watch; watch != nil && !watch.AtWindow && w.t.Spec.Load.Warmup > 0 {
		phase = measure.Warmup
	}
	return w.out.Made(phase, t.Created, t.CreatedSeconds)
}

// hashes asks all members for the hash of their data, until they have compacted
// to the same revision.
func (t *Trial) hashes(ctx context.Context, m *members) *record.Hashes {
	if !t.Spec.Load.CompareHashes {
		return nil
	}
	t.tell(Progress{Stage: "comparing the members' data"})
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	hasher := m.admin.(store.Hasher) // the scenario was refused without it
	for till := time.Now().Add(hashSettles); ; {
		began := time.Now()
		all, err := hasher.Hash(ctx)
		out := record.Hashes{Seconds: time.Since(began).Seconds(), Members: []record.MemberHash{}}
		switch {
		case errors.Is(context.Cause(ctx), context.Canceled):
			out.Failure = "it was interrupted"
			return &out
		case errors.Is(err, store.ErrBehind) && time.Now().Before(till) && pause(ctx, askEvery):
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
		case alike(all):
			return &out
		case time.Now().After(till) || !pause(ctx, askEvery):
			out.Failure = fmt.Sprintf("within %v they did not compact to the same revision", hashSettles)
			return &out
		}
	}
}

// alike reports whether the hashes can be compared.
func alike(all []store.MemberHash) bool {
	for _, h := range all {
		if h.Revision != all[0].Revision || h.Compacted != all[0].Compacted {
			return false
		}
	}
	return true
}

// sizes is the size of each member's database by its endpoint, as far as that
// is known.
func (m *members) sizes() map[string]*int64 {
	out := map[string]*int64{}
	status := m.status()
	for i := range status.Members {
		if e := &status.Members[i]; e.Err == nil && e.DBSize > 0 {
			out[e.Endpoint] = &e.DBSize
		}
	}
	return out
}
