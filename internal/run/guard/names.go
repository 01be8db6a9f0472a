package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/load/app/registry"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Names say which names the keys of a load have after their prefix. The zero value is any
// name.
type Names struct {
	// KeySize and KeySpace: a number in KeySize bytes, below KeySpace.
	KeySize  int    `json:"key_size,omitempty"`
	KeySpace uint64 `json:"key_space,omitempty"`
	// Application: those of its keys.
	Application string `json:"application,omitempty"`
	// Beside are what more names begin with, such as that of a lock.
	Beside []string `json:"beside,omitempty"`
}

// validNames reports whether names that were read from a marker can be of a load.
func validNames(all []Names) bool {
	for _, n := range all {
		if n.KeySpace > 0 {
			if _, err := keys.NewSpace("", n.KeySize, n.KeySpace); err != nil || n.KeySize < 0 || n.KeySize > scenario.MaxKeySize {
				return false
			}
		}
	}
	return true
}

// has reports whether a key may have the name.
func (n *Names) has(name string) bool {
	if slices.ContainsFunc(n.Beside, func(b string) bool { return b != "" && strings.HasPrefix(name, b) }) {
		return true
	}
	if n.Application != "" {
		app := application.Find(registry.All(), n.Application)
		return app == nil || app.Definition().Names.MatchString(name)
	}
	if n.KeySpace == 0 {
		return true
	}
	space, err := keys.NewSpace("", n.KeySize, n.KeySpace)
	if err != nil {
		return false
	}
	_, ok := space.Number([]byte(name))
	return ok
}

// equal reports whether two are the same.
func (n *Names) equal(o *Names) bool {
	return n.KeySize == o.KeySize && n.KeySpace == o.KeySpace && n.Application == o.Application && slices.Equal(n.Beside, o.Beside)
}

// owns reports whether a key below the prefix can be the run's, by its name.
func (m *Marker) owns(key string) bool {
	name := strings.TrimPrefix(key, m.Prefix)
	return key == MarkerKey(m.Prefix) || len(m.Names) == 0 || slices.ContainsFunc(m.Names, func(n Names) bool { return n.has(name) })
}

// mostListed is how many names of keys are looked at.
const mostListed = 2_000_000

// own divides the keys below a marker's prefix into those that can be the run's and
// others. ok is false where the store does not tell them, or where there are too many.
func (m *Marker) own(ctx context.Context, admin store.Admin) (mine, others []string, ok bool, err error) {
	l, lists := admin.(store.Cleaner)
	if !lists || slices.ContainsFunc(m.Names, func(n Names) bool { return n.equal(&Names{}) }) {
		return nil, nil, false, nil
	}
	names, more, err := l.KeysOf(ctx, []byte(m.Prefix), mostListed)
	if err != nil || more {
		return nil, nil, false, err
	}
	for _, name := range names {
		if m.owns(name) {
			mine = append(mine, name)
		} else {
			others = append(others, name)
		}
	}
	return mine, others, true, nil
}

// removeOwn removes keys one by one, because others stand between them.
func (g *Guard) removeOwn(ctx context.Context, admin store.Admin, m *Marker, mine, others []string) (removed int64, err error) {
	stay := "are not of this run and stay"
	if len(others) == 1 {
		stay = "is not of this run and stays"
	}
	g.Say(fmt.Sprintf("%s below %q, such as %q, %s", text.Plural(uint64(len(others)), "key"), m.Prefix, others[0], stay))
	_, folders := admin.(store.FolderKeeper)
	for _, key := range mine {
		if key == MarkerKey(m.Prefix) {
			continue // it is the last
		}
		if d, ok := admin.(store.Cleaner); ok && folders { // a folder of the run's, perhaps
			if _, err := d.DeletePrefix(ctx, []byte(key+"/")); err != nil {
				return removed, err
			}
		}
		if err := g.remove(ctx, key); err != nil {
			return removed, fmt.Errorf("the key %q cannot be removed: %w", key, err)
		}
		removed++
	}
	return removed, nil
}
