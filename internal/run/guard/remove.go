package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of a removal: a store may answer that a large one timed out and go on with it,
// so it is asked again whether anything is left.
const (
	removeWithin = 3 * time.Minute
	removePause  = 500 * time.Millisecond
	// removeTry bounds one of those: a member that stands still does not answer, and the
	// next time another is asked.
	removeTry = 20 * time.Second
)

// removeMarked removes what a marker says is its run's: keys and services, the leases
// and sessions that they are bound to, the folders that were made for them, and at last
// the marker.
func (g *Guard) removeMarked(ctx context.Context, m *Marker) (removed int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	admin, err := g.admin()
	if err != nil {
		return 0, err
	}
	defer func() { _ = admin.Close() }() // nothing is left to ask
	var leases []int64
	finder, finds := admin.(store.LeaseFinder)
	if finds && m.Leases {
		if leases, err = finder.LeasesOf(ctx, []byte(m.Prefix)); err != nil {
			return 0, err
		}
	}
	if removed, err = g.removeKeys(ctx, admin, m); err != nil {
		return removed, err
	}
	if m.Services {
		n, err := admin.(store.ServiceKeeper).RemoveServices(ctx, m.Prefix)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	if len(leases) > 0 {
		if err := admin.(store.Leaser).Revoke(ctx, leases); err != nil {
			return removed, err
		}
	}
	if m.Run != "" {
		if err := g.remove(ctx, MarkerKey(m.Prefix)); err != nil {
			return removed, fmt.Errorf("the key %q cannot be removed: %w", MarkerKey(m.Prefix), err)
		}
	}
	if f, ok := admin.(store.FolderKeeper); ok && len(m.Folders) > 0 {
		return removed, f.RemoveFolders(ctx, m.Folders)
	}
	return removed, nil
}

// removeKeys removes the keys below a marker's prefix, and asks until none is left.
func (g *Guard) removeKeys(ctx context.Context, admin store.Admin, m *Marker) (removed int64, err error) {
	deleter, ok := admin.(store.PrefixDeleter)
	if strings.Trim(m.Prefix, "/") == "" || !ok {
		return g.removeNamed(ctx, m)
	}
	own := int64(0) // the marker, where it is one of the keys with the prefix
	if m.Run != "" && strings.HasPrefix(MarkerKey(m.Prefix), m.Prefix) {
		own = 1
	}
	for {
		n, failed := deletePrefix(ctx, deleter, m.Prefix)
		removed += n
		asked, cancel := context.WithTimeout(ctx, removeTry)
		left, _, err := g.Count(asked, Below(m.Prefix))
		cancel()
		if err == nil && left == 0 {
			return max(removed-own, 0), nil
		}
		if failed = errors.Join(failed, err); failed == nil {
			failed = fmt.Errorf("keys with prefix %q are left", m.Prefix)
		}
		if !pause(ctx, removePause) {
			return removed, failed
		}
	}
}

// deletePrefix has the keys below a prefix removed, and tries once more where that failed.
func deletePrefix(ctx context.Context, d store.PrefixDeleter, prefix string) (removed int64, failed error) {
	for range 2 {
		asked, cancel := context.WithTimeout(ctx, removeTry)
		n, err := d.DeletePrefix(asked, []byte(prefix))
		cancel()
		removed += n
		if failed = err; err == nil {
			break
		}
	}
	return removed, failed
}

// services asks how many services have names that begin with a prefix.
func (g *Guard) services(ctx context.Context, prefix string) (n int64, some []string, err error) {
	admin, err := g.admin()
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = admin.Close() }() // nothing is left to ask
	names, err := admin.(store.ServiceKeeper).Services(ctx, prefix)
	return int64(len(names)), names[:min(len(names), mostExamples)], err
}

// missingFolders asks which folders above the keys with a prefix, and above its marker,
// are not there.
func (g *Guard) missingFolders(ctx context.Context, prefix string) ([]string, error) {
	admin, err := g.admin()
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close() }() // nothing is left to ask
	f, ok := admin.(store.FolderKeeper)
	if !ok {
		return nil, nil
	}
	return f.MissingFolders(ctx, prefix)
}
