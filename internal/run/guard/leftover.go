package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Leftover is a run that has left keys below a prefix, or that is still writing there.
type Leftover struct {
	Marker
	RunState State
}

// Find returns the runs whose markers exist at the given prefixes.
func (g *Guard) Find(ctx context.Context, prefixes []string) (found []Leftover, err error) {
	for _, prefix := range prefixes {
		m, ok, err := g.readMarker(ctx, prefix)
		var other *NotEmptyError
		switch {
		case errors.As(err, &other): // a key of another program has the marker's name
			continue
		case err != nil:
			return found, err
		}
		seen := func(l Leftover) bool { return ok && l.Run == m.Run && l.Prefix == m.Prefix }
		if ok && !slices.ContainsFunc(found, seen) {
			found = append(found, Leftover{*m, m.State()})
		}
	}
	return found, nil
}

// Clean removes the keys that a run has left, and nothing else.
func (g *Guard) Clean(ctx context.Context, l *Leftover) (removed int64, err error) {
	removed, err = g.removeMarked(ctx, &l.Marker)
	if err != nil {
		return removed, fmt.Errorf("cannot remove the keys below %q: %w", l.Prefix, err)
	}
	return removed, nil
}
