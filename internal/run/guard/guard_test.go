package guard

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// newGuard returns a guard for a null server, and the lines that the guard prints for the user.
func newGuard(t *testing.T, st store.Store) (g *Guard, printed *[]string) {
	t.Helper()
	printed = new([]string)
	endpoints := storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})
	return New(Options{
		Client: Client{Store: st, Access: store.Access{Endpoints: endpoints}}, Now: time.Now,
		Notify: func(line string) { *printed = append(*printed, line) },
	}), printed
}

// undeleting is a store that cannot delete keys.
type undeleting struct{ store.Store }

// Capabilities implements store.Store.
func (u undeleting) Capabilities() kv.Capabilities {
	c := u.Store.Capabilities()
	c.Operations, c.Features = maps.Clone(c.Operations), maps.Clone(c.Features)
	delete(c.Operations, kv.Delete)
	delete(c.Features, kv.PrefixDelete)
	return c
}

// If a load may overwrite keys in a store that cannot delete keys, the run says before the load that
// its keys remain, and does not fail at its end.
func TestKeysRemainInAStoreThatCannotDelete(t *testing.T) {
	g, printed := newGuard(t, undeleting{etcd.New()})
	if err := g.Claim(t.Context(), Plan{Names: Names{KeySize: 8, KeySpace: 10}, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(*printed, "\n"); !strings.Contains(got, "and leaves them there: etcd does not remove keys") {
		t.Errorf("before the load, the guard printed %q, want that the keys remain", got)
	}
	*printed = nil
	if err := g.Release(t.Context()); err != nil {
		t.Errorf("the end of the run failed with %v, want no error", err)
	}
	if got := strings.Join(*printed, "\n"); !strings.Contains(got, "cannot remove them: etcd does not remove keys") {
		t.Errorf("at the end, the guard printed %q, want that the keys remain", got)
	}
}

// A marker with folders is removed from a store that has no folders.
func TestCleanIgnoresFoldersInAStoreWithoutFolders(t *testing.T) {
	g, _ := newGuard(t, etcd.New())
	m := Marker{Run: "0123456789abcdef", Prefix: "app/", WasEmpty: true, Folders: []string{"/app"}}
	for _, key := range []string{MarkerKey(m.Prefix), "app/1"} {
		if err := g.put(t.Context(), key, m.encode()); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := g.Clean(t.Context(), &Leftover{Marker: m})
	if removed != 1 || err != nil {
		t.Errorf("Clean removed %d keys and returned %v, want 1 key and no error", removed, err)
	}
	if _, found, err := g.get(t.Context(), MarkerKey(m.Prefix)); found || err != nil {
		t.Errorf("after Clean, the marker exists: %v, %v; want that it was removed", found, err)
	}
}

// Clear counts every key that it removes below a part of the claimed prefix.
func TestClearCountsTheKeysBelowAnInnerPrefix(t *testing.T) {
	g, _ := newGuard(t, etcd.New())
	if err := g.Claim(t.Context(), Plan{Prefix: "app/"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"app/x1", "app/x2", "app/x3", "app/y"} {
		if err := g.put(t.Context(), key, []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		prefix string
		want   int64
	}{{"app/x", 3}, {"app/", 1}} {
		if removed, err := g.Clear(t.Context(), c.prefix); removed != c.want || err != nil {
			t.Errorf("Clear of %s removed %d keys and returned %v, want %d keys and no error", c.prefix, removed, err, c.want)
		}
	}
	if _, found, err := g.get(t.Context(), MarkerKey("app/")); !found || err != nil {
		t.Errorf("after Clear, the marker exists: %v, %v; want that the claim remains valid", found, err)
	}
}
