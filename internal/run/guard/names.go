package guard

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Names describes the names of a load's keys, without their prefix. The zero value matches every
// name.
type Names struct {
	// If KeySpace is set, a name matches if it has KeySize bytes and encodes a number less than
	// KeySpace (see keys.Space).
	KeySize  int    `json:"key_size,omitempty"`
	KeySpace uint64 `json:"key_space,omitempty"`
	// Application is the name of an application, or empty. It matches the names of all keys of this
	// application.
	Application string `json:"application,omitempty"`
	// Prefixes contains the beginnings of further names that match, such as the name of a lock.
	Prefixes []string `json:"prefixes,omitempty"`
}

// validNames reports whether names that were read from a marker may describe the keys of a load.
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

// matches reports whether n describes a key with the given name, without its prefix.
func (n *Names) matches(name string) bool {
	if slices.ContainsFunc(n.Prefixes, func(b string) bool { return b != "" && strings.HasPrefix(name, b) }) {
		return true
	}
	if n.Application != "" {
		app := application.Find(load.Applications(), n.Application)
		return app == nil || app.Definition().KeyPattern.MatchString(name)
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

// equal reports whether n and o match the same names.
func (n *Names) equal(o *Names) bool {
	return n.KeySize == o.KeySize && n.KeySpace == o.KeySpace && n.Application == o.Application && slices.Equal(n.Prefixes, o.Prefixes)
}
