package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Release removes everything that the run wrote, however the run ended, and reports it to the
// user.
func (g *Guard) Release(ctx context.Context) error {
	if g == nil {
		return nil
	}
	var failed error
	for _, c := range slices.Backward(g.claims) {
		failed = errors.Join(failed, g.release(ctx, c))
	}
	if kept := func(c *claim) bool { return c.Keep && c.Leases }; !slices.ContainsFunc(g.claims, kept) {
		failed = errors.Join(failed, g.endGranted(ctx))
	}
	g.claims, g.leases = nil, nil
	return failed
}

func (g *Guard) release(ctx context.Context, c *claim) error {
	switch {
	case c.others:
		g.Say(fmt.Sprintf("left the keys that it wrote below %q, which cannot be distinguished from older keys", c.Prefix))
		return nil
	case c.Keep:
		return g.keep(ctx, c)
	}
	n, err := g.removeMarked(ctx, c.marker)
	if err != nil {
		return fmt.Errorf("keys below %q may be left, which \"quorumbench cleanup %s --prefix %s\" removes: %w", c.Prefix, g.Flags, argument(c.Prefix), err)
	}
	did := "removed " + text.Plural(uint64(n), "key")
	if n == 0 {
		did = "nothing is left"
	}
	g.Say(fmt.Sprintf("%s below %q; the cluster contains nothing of this run any more", did, c.Prefix))
	return nil
}

// keep leaves the keys in the cluster, with a marker that identifies them as quorumbench's.
func (g *Guard) keep(ctx context.Context, c *claim) error {
	if c.marker.Run == "" {
		return nil
	}
	c.marker.Kept = true
	if err := g.rewrite(ctx, c.marker); err != nil {
		return err
	}
	if c.stuck != nil {
		g.Say(fmt.Sprintf("left its keys below %q, as asked: %v", c.Prefix, c.stuck))
		return nil
	}
	g.Say(fmt.Sprintf("left its keys below %q, as asked; \"quorumbench cleanup %s --prefix %s\" removes them", c.Prefix, g.Flags, argument(c.Prefix)))
	return nil
}
