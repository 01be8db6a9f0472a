package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits of a removal. A store may report that a large removal timed out but still continue with
// it. Therefore, the remaining keys are counted after the request.
const (
	removeTimeout = 3 * time.Minute
	removePause   = 500 * time.Millisecond
	// removeRequestTimeout is the time limit of one request. If a paused member does not respond
	// within this time, the next request is sent to another member.
	removeRequestTimeout = 20 * time.Second
	// maxTimeWithoutProgress is the time without progress after which a removal is abandoned.
	maxTimeWithoutProgress = 30 * time.Second
)

// removeMarked removes everything that belongs to a marker's run: keys and services, the leases and
// sessions to which they are bound, the folders that were created for them, and the marker itself.
func (g *Guard) removeMarked(ctx context.Context, m *Marker) (removed int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	admin, err := g.admin()
	if err != nil {
		return 0, err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	var leases []string
	leaser, revokesLeases := admin.(store.Leaser)
	cleaner, hasServices := admin.(store.Cleaner)
	keeper, hasFolders := admin.(store.FolderKeeper)
	findLeases := func(ctx context.Context) (err error) { // LeasesWithPrefix may send many requests, and limits the time of each request itself
		leases, err = leaser.LeasesWithPrefix(ctx, []byte(m.Prefix))
		return err
	}
	if revokesLeases && m.Leases {
		if err := g.retry(ctx, removeTimeout, findLeases); err != nil {
			return 0, err
		}
	}
	for _, step := range []struct {
		due bool
		do  func(context.Context) error
	}{
		{true, func(context.Context) error { // removeKeys has its own time limits
			n, err := g.removeKeys(ctx, admin, m)
			removed += n
			return err
		}},
		{hasServices && m.Services, func(ctx context.Context) error {
			n, err := m.removeServices(ctx, cleaner)
			removed += n
			return err
		}},
		{revokesLeases && m.Leases, func(ctx context.Context) error { return leaser.EndLeases(ctx, leases) }},
		{m.Run != "", func(ctx context.Context) error { return g.Remove(ctx, MarkerKey(m.Prefix)) }},
		{hasFolders && len(m.Folders) > 0, func(ctx context.Context) error { return keeper.RemoveFolders(ctx, m.Folders) }},
	} {
		if !step.due {
			continue
		}
		if err := g.retry(ctx, removeRequestTimeout, step.do); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// retry calls the function `do` until it succeeds or until the time maxTimeWithoutProgress has
// passed. The parameter `limit` is the time limit of each call.
func (g *Guard) retry(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	for began := g.Now(); ; {
		asked, cancel := context.WithTimeout(ctx, limit)
		err := do(asked)
		cancel()
		if err == nil || g.Now().Sub(began) > maxTimeWithoutProgress || !measure.Pause(ctx, removePause) {
			return err
		}
	}
}

// revokeGranted revokes the leases that were granted to the run's loads. No keys are bound to them
// anymore.
func (g *Guard) revokeGranted(ctx context.Context) error {
	if len(g.leases) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	admin, err := g.admin()
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	if leaser, ok := admin.(store.Leaser); ok {
		return leaser.EndLeases(ctx, g.leases)
	}
	return nil
}

// removeKeys removes the keys below a marker's prefix, and repeats this until no key is left.
func (g *Guard) removeKeys(ctx context.Context, admin store.Admin, m *Marker) (removed int64, err error) {
	deleter, ok := admin.(store.Cleaner)
	if !IsDistinct(m.Prefix) || !ok {
		return g.removeByName(ctx, m)
	}
	removedSingly := int64(0) // number of marker keys below the prefix: 0 or 1
	if m.Run != "" && strings.HasPrefix(MarkerKey(m.Prefix), m.Prefix) {
		removedSingly = 1
	}
	progress, fewestRemaining := g.Now(), int64(math.MaxInt64) // the time of the last progress, and the minimum number of remaining keys so far
	for {
		var mine, others []string
		failed := tryTwice(ctx, func(ctx context.Context) (err error) {
			mine, others, _, err = m.splitKeys(ctx, admin)
			return err
		})
		if failed == nil && len(others) > 0 {
			return g.removeOwn(ctx, admin, m, mine, others)
		}
		if failed == nil {
			failed = tryTwice(ctx, func(ctx context.Context) error {
				n, err := deleter.DeletePrefix(ctx, []byte(m.Prefix))
				removed += n
				return err
			})
		}
		asked, cancel := context.WithTimeout(ctx, removeRequestTimeout)
		remaining, _, err := g.Count(asked, PrefixInterval(m.Prefix))
		cancel()
		switch {
		case err == nil && remaining == 0:
			return max(removed-removedSingly, 0), nil
		case err == nil && remaining < fewestRemaining:
			progress, fewestRemaining = g.Now(), remaining
		}
		if failed = errors.Join(failed, err); failed == nil {
			failed = fmt.Errorf("keys with prefix %q still exist", m.Prefix)
		}
		if g.Now().Sub(progress) > maxTimeWithoutProgress || !measure.Pause(ctx, removePause) {
			return removed, failed
		}
	}
}

// tryTwice sends a request, and sends it once more if it fails. To repeat a sequence of two
// requests would not be sufficient: if every second request to a store failed, the sequence would
// never succeed.
func tryTwice(ctx context.Context, ask func(context.Context) error) (failed error) {
	for range 2 {
		asked, cancel := context.WithTimeout(ctx, removeRequestTimeout)
		failed = ask(asked)
		cancel()
		if failed == nil {
			break
		}
	}
	return failed
}

// removeServices removes the services that a marker's run registered.
func (m *Marker) removeServices(ctx context.Context, k store.Cleaner) (removed int64, err error) {
	names, err := k.Services(ctx, m.Prefix)
	if err != nil {
		return 0, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !m.owns(name) })
	if err := k.RemoveServices(ctx, names); err != nil {
		return 0, err
	}
	return int64(len(names)), nil
}

// services returns the number of services whose names begin with a prefix, and some of the names.
func (g *Guard) services(ctx context.Context, prefix string) (n int64, some []string, err error) {
	admin, err := g.admin()
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	names, err := admin.(store.Cleaner).Services(ctx, prefix)
	return int64(len(names)), names[:min(len(names), maxExamples)], err
}

// missingFolders returns those parent folders of a prefix's keys and of its marker that do not
// exist yet.
func (g *Guard) missingFolders(ctx context.Context, prefix string) ([]string, error) {
	admin, err := g.admin()
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	f, ok := admin.(store.FolderKeeper)
	if !ok {
		return nil, nil
	}
	return f.MissingFolders(ctx, prefix)
}

// Clear removes the keys below a prefix that the run has claimed. The claim remains valid.
func (g *Guard) Clear(ctx context.Context, prefix string) (removed int64, err error) {
	c := g.findClaim(prefix)
	if c == nil || c.marker == nil {
		return 0, nil // nothing is removed if other keys may exist below the prefix
	}
	admin, err := g.admin()
	if err != nil {
		return 0, err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	m := *c.marker
	if m.Prefix = prefix; prefix != c.Prefix {
		// The marker's names are relative to the claim's prefix, and the marker is not below this
		// prefix.
		m.Names, m.Run = nil, ""
	}
	if removed, err = g.removeKeys(ctx, admin, &m); err != nil {
		return removed, err
	}
	if m.Run != "" && strings.HasPrefix(MarkerKey(c.Prefix), prefix) {
		err = g.rewrite(ctx, c.marker)
	}
	return removed, err
}

// removeOwn removes the run's keys one by one, because keys of other programs exist below the same
// prefix.
func (g *Guard) removeOwn(ctx context.Context, admin store.Admin, m *Marker, mine, others []string) (removed int64, err error) {
	keptNotice := "do not belong to this run and are kept"
	if len(others) == 1 {
		keptNotice = "does not belong to this run and is kept"
	}
	g.Notify(fmt.Sprintf("%s below %q, such as %q, %s", text.Plural(uint64(len(others)), "key"), m.Prefix, others[0], keptNotice))
	_, folders := admin.(store.FolderKeeper)
	for _, key := range mine {
		if key == MarkerKey(m.Prefix) {
			continue // the marker is removed last
		}
		if d, ok := admin.(store.Cleaner); ok && folders { // the key may also be a folder that the run created
			if _, err := d.DeletePrefix(ctx, []byte(key+"/")); err != nil {
				return removed, err
			}
		}
		if err := g.Remove(ctx, key); err != nil {
			return removed, fmt.Errorf("cannot remove the key %q: %w", key, err)
		}
		removed++
	}
	return removed, nil
}
