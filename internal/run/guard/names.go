package guard

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
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
		app := application.Find(load.Applications(), n.Application)
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
