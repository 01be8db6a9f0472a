package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Claim permits the run to write keys below a prefix. It returns a NotEmptyError if the run might
// change keys that do not belong to it.
func (g *Guard) Claim(ctx context.Context, p Plan) error {
	if g == nil {
		return nil
	}
	if held := g.findClaim(p.Prefix); held != nil {
		return g.extendClaim(ctx, held, &p)
	}
	c := &claim{Plan: p, removalObstacle: g.findRemovalObstacle(ctx, &p)}
	if c.removalObstacle != nil && !p.Keep && !p.Overwrite {
		return fmt.Errorf("%w, so the load's keys could not be removed from the running cluster afterwards; the load was not started; to start it and keep its keys, set cleanup: false", c.removalObstacle)
	}
	c.Keep = c.Keep || c.removalObstacle != nil // keys that may be overwritten are permitted to remain
	err := g.establishClaim(ctx, c)
	var others *NotEmptyError
	switch {
	case errors.Is(err, errCovered):
		return nil
	case errors.As(err, &others) && others.Running == "" && p.Overwrite:
		if err := g.checkAPIServer(ctx, c); err != nil {
			return err
		}
		// The run removes no keys at its end, because its own keys cannot be distinguished from
		// others.
		c.mayHaveOthers, c.marker = true, nil
	case err != nil:
		return err
	}
	g.claims = append(g.claims, c)
	g.Notify(g.describe(c))
	return nil
}

// extendClaim extends an existing claim to the keys of another trial.
func (g *Guard) extendClaim(ctx context.Context, c *claim, p *Plan) error {
	m := c.marker
	if m == nil {
		return nil
	}
	names := p.Names
	if p.Prefix != c.Prefix { // the plan's prefix is below the claim's prefix
		names = Names{Prefixes: []string{strings.TrimPrefix(p.Prefix, c.Prefix)}}
	}
	known := slices.ContainsFunc(m.Names, func(n Names) bool { return n.equal(&names) })
	if known && (m.Leases || !p.Leases) && (m.Services || !p.Services) {
		return nil
	}
	if !known && !IsDistinct(p.Prefix) { // without a distinct prefix, other keys may belong to another program
		if err := g.checkEmpty(ctx, &claim{Plan: *p}); err != nil {
			return err
		}
	}
	m.Leases, m.Services = m.Leases || p.Leases, m.Services || p.Services
	if !known {
		m.Names = append(m.Names, names)
	}
	if m.Run == "" {
		return nil
	}
	return g.rewrite(ctx, m)
}

// errCovered reports that another claim of this run covers the prefix.
var errCovered = errors.New("another claim of this run covers the prefix")

// establishClaim checks that no key exists below the prefix, or that quorumbench wrote all keys
// there. It then writes the marker that records this fact.
func (g *Guard) establishClaim(ctx context.Context, c *claim) error {
	if !IsDistinct(c.Prefix) && c.KeySpace == 0 {
		return &NotEmptyError{Prefix: c.Prefix, Remedy: remedy}
	}
	if err := g.checkOuterClaim(ctx, c); err != nil {
		return err
	}
	leftover, found, err := g.readMarker(ctx, c.Prefix)
	if err != nil {
		return err
	}
	if found && leftover.KeepsKeys {
		return g.takeOverMarker(ctx, c, leftover)
	}
	if found {
		if err := g.delegate(ctx, leftover, &c.Plan); err != nil {
			return err
		}
		if err := g.removeLeftover(ctx, c, leftover); err != nil {
			return err
		}
	}
	if err := g.checkEmpty(ctx, c); err != nil {
		if err := g.removeInnerLeftovers(ctx, c, err); err != nil {
			return err
		}
	}
	if err := g.checkAPIServer(ctx, c); err != nil {
		return err
	}
	return g.writeMarker(ctx, c)
}

// checkOuterClaim searches for markers at outer prefixes, which contain the claim's prefix. If the
// run that wrote such a marker may still be running, or was asked to keep its keys, checkOuterClaim
// returns an error: when that run ends or is cleaned up, keys below its prefix are removed whose
// names match those of its own keys. If the other run was killed, checkOuterClaim removes the keys
// that the run left.
func (g *Guard) checkOuterClaim(ctx context.Context, c *claim) error {
	for i := range len(c.Prefix) - 1 {
		outer := c.Prefix[:i+1]
		if c.Prefix[i] != '/' || strings.Trim(outer, "/") == "" {
			continue
		}
		m, found, err := g.readMarker(ctx, outer)
		switch {
		case err != nil || !found: // an error is possible because the user may have no rights for keys outside the prefix
		case g.ownClaim(m) != nil:
			return errCovered
		default:
			if err := g.delegate(ctx, m, &c.Plan); err != nil {
				return err
			}
			if err := g.removeLeftover(ctx, c, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLeftover removes the keys that a killed run left. It returns a NotEmptyError if that run
// may still be running, or if it was asked to keep its keys.
func (g *Guard) removeLeftover(ctx context.Context, c *claim, m *Marker) error {
	if m.State() != Ended || m.KeepsKeys {
		return g.inUse(c.Prefix, m)
	}
	g.Notify(fmt.Sprintf("removing the keys below %q; a run that began at %s left them when it was killed", m.Prefix, m.StartTime.Format(time.RFC3339)))
	if _, err := g.removeMarked(ctx, m); err != nil {
		return fmt.Errorf("cannot remove the keys that a killed run left below %q: %w", m.Prefix, err)
	}
	return nil
}

// removeInnerLeftovers removes the keys that killed runs left below a claim's prefix. It searches
// only the known prefixes. It returns an error if other keys remain. If it removes nothing, it
// returns the given error notEmpty.
func (g *Guard) removeInnerLeftovers(ctx context.Context, c *claim, notEmpty error) error {
	cleared := false
	for _, prefix := range g.DefaultPrefixes {
		if samePrefix(prefix, c.Prefix) || !isBelow(prefix, c.Prefix) {
			continue
		}
		m, found, err := g.readMarker(ctx, prefix)
		if err != nil || !found {
			continue
		}
		if own := g.ownClaim(m); own != nil { // the trials that used this claim have ended
			err = g.release(ctx, own)
			g.claims = slices.DeleteFunc(g.claims, func(c *claim) bool { return c == own })
		} else {
			err = g.removeLeftover(ctx, c, m)
		}
		if err != nil {
			return err
		}
		cleared = true
	}
	if cleared {
		return g.checkEmpty(ctx, c)
	}
	return notEmpty
}

// inUse returns the error for a prefix that another run uses or may use.
func (g *Guard) inUse(prefix string, m *Marker) error {
	e := &NotEmptyError{Prefix: prefix, Remedy: "choose another prefix, or wait until that run has ended"}
	e.Running = fmt.Sprintf("the run of process %d on %s, which began at %s", m.Owner.PID, m.Machine, m.StartTime.Format(time.RFC3339))
	switch {
	case m.KeepsKeys:
		e.Running = fmt.Sprintf("keys of a run that began at %s and was asked to keep its keys", m.StartTime.Format(time.RFC3339))
		e.Remedy = fmt.Sprintf("choose another prefix, or remove these keys with \"%s\"", g.cleanupCommand(m.Prefix, ""))
	case m.State() == Unknown:
		e.Remedy = fmt.Sprintf("choose another prefix or, if that run has ended, remove its keys with \"%s --run %s\"", g.cleanupCommand(m.Prefix, ""), m.Run)
	}
	return e
}

// takeOverMarker takes over the keys of an earlier run that was asked to keep them. It replaces
// that run's marker with a marker of this run.
func (g *Guard) takeOverMarker(ctx context.Context, c *claim, m *Marker) error {
	ownMarker, err := newMarker(g.Tool, &c.Plan, g.Now())
	if err != nil {
		return err
	}
	ownMarker.Prefix = m.Prefix
	ownMarker.Leases, ownMarker.Services, ownMarker.Folders = m.Leases || c.Leases, m.Services || c.Services, m.Folders
	if !slices.ContainsFunc(m.Names, func(n Names) bool { return n.equal(&c.Names) }) {
		ownMarker.Names = append(slices.Clone(m.Names), c.Names)
	} else {
		ownMarker.Names = m.Names
	}
	c.marker = &ownMarker
	return g.rewrite(ctx, &ownMarker)
}

// checkEmpty returns a NotEmptyError if any key exists where the claim writes.
func (g *Guard) checkEmpty(ctx context.Context, c *claim) error {
	in := PrefixInterval(c.Prefix)
	if !IsDistinct(c.Prefix) {
		var err error
		if in, err = KeySpaceInterval(c.Prefix, c.KeySize, c.KeySpace); err != nil {
			return err
		}
	}
	n, examples, err := g.Count(ctx, in)
	if err != nil {
		return err
	}
	if n == 0 && c.Services {
		n, examples, err = g.services(ctx, c.Prefix)
	}
	if err != nil || n == 0 {
		return err
	}
	return &NotEmptyError{Prefix: c.Prefix, Keys: n, SampleKeys: examples, Remedy: remedy}
}

// writeMarker writes the marker. If the user has no right to write the marker, the run continues
// without it.
func (g *Guard) writeMarker(ctx context.Context, c *claim) error {
	m, err := newMarker(g.Tool, &c.Plan, g.Now())
	if err != nil {
		return err
	}
	if m.Folders, err = g.missingFolders(ctx, c.Prefix); err != nil {
		return err
	}
	key := MarkerKey(c.Prefix)
	created, err := g.create(ctx, key, m.encode())
	denied := IsDenied(err)
	switch {
	case denied:
		g.Notify(fmt.Sprintf("%s has no right to write the key %q, which marks the keys below %q as this run's keys; if the run is killed, no command can distinguish its keys from others",
			g.user(), key, c.Prefix))
	case err != nil:
		return fmt.Errorf("cannot write the key %q, which marks the keys below %q as this run's keys: %w", key, c.Prefix, err)
	case !created:
		return &NotEmptyError{Prefix: c.Prefix, Running: "another run that began at the same time", Remedy: "choose another prefix"}
	}
	c.marker = &m
	if denied {
		c.marker.Run = "" // shows that the marker was not written
	}
	return nil
}

func (g *Guard) user() string {
	if g.Access.User == "" {
		return "this client"
	}
	return "the user " + g.Access.User
}

// describe returns a sentence that informs the user what the run does below a prefix.
func (g *Guard) describe(c *claim) string {
	run := ""
	if c.marker != nil {
		run = c.marker.Run
	}
	what := "keys"
	if c.Keys > 0 {
		what = "up to " + text.Plural(c.Keys, "key")
	}
	if c.Bytes > 0 {
		what += " (" + text.Bytes(c.Bytes) + ")"
	}
	if c.Services {
		what = "services and " + what
	}
	if c.Leases {
		what += ", some of them bound to leases or sessions,"
	}
	words := fmt.Sprintf("writes %s below %q in the running cluster", what, c.Prefix)
	switch {
	case c.mayHaveOthers:
		words += ", where other keys exist: the run may replace and delete them, and removes nothing at its end"
	case c.Keep && c.removalObstacle != nil:
		words += " and leaves them there: " + c.removalObstacle.Error()
	case c.Keep:
		words += fmt.Sprintf(" and leaves them there; remove them with \"%s\"", g.cleanupCommand(c.Prefix, run))
	default:
		words += fmt.Sprintf(" and removes them at the end; if the run is killed, remove them with \"%s\"", g.cleanupCommand(c.Prefix, run))
	}
	if len(c.ClusterWide) > 0 {
		words += "; as requested, it also " + strings.Join(c.ClusterWide, " and ") + ", which affects the whole cluster"
	}
	return words
}
