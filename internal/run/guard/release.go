package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Release removes everything that the run wrote, whether the run succeeded or failed, and reports
// the removal to the user.
func (g *Guard) Release(ctx context.Context) error {
	if g == nil {
		return nil
	}
	var failed error
	for _, c := range slices.Backward(g.claims) {
		failed = errors.Join(failed, g.release(ctx, c))
	}
	if kept := func(c *claim) bool { return c.Keep && c.Leases }; !slices.ContainsFunc(g.claims, kept) {
		failed = errors.Join(failed, g.revokeGranted(ctx))
	}
	g.claims, g.leases = nil, nil
	return failed
}

func (g *Guard) release(ctx context.Context, c *claim) error {
	switch {
	case c.mayHaveOthers:
		g.Notify(fmt.Sprintf("left the keys that the run wrote below %q, because they cannot be distinguished from older keys", c.Prefix))
		return nil
	case c.Keep:
		return g.keep(ctx, c)
	}
	n, err := g.removeMarked(ctx, c.marker)
	if err != nil {
		return fmt.Errorf("some of the run's keys below %q may still exist; remove them with \"%s\": %w", c.Prefix, g.cleanupCommand(c.Prefix, c.marker.Run), err)
	}
	did := "removed " + text.Plural(uint64(n), "key")
	if n == 0 {
		did = "nothing is left"
	}
	g.Notify(fmt.Sprintf("%s below %q; the cluster no longer contains anything from this run", did, c.Prefix))
	return nil
}

// keep leaves the keys in the cluster, with a marker that identifies them as keys of quorumbench.
func (g *Guard) keep(ctx context.Context, c *claim) error {
	if c.marker.Run == "" {
		return nil
	}
	c.marker.KeepsKeys = true
	if err := g.rewrite(ctx, c.marker); err != nil {
		return err
	}
	if c.removalObstacle != nil {
		g.Notify(fmt.Sprintf("left the run's keys below %q; quorumbench cannot remove them: %v", c.Prefix, c.removalObstacle))
		return nil
	}
	g.Notify(fmt.Sprintf("left the run's keys below %q, as requested; remove them with \"%s\"", c.Prefix, g.cleanupCommand(c.Prefix, c.marker.Run)))
	return nil
}
