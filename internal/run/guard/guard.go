// Package guard protects the data in a cluster that the run did not start. All code that writes to
// such a cluster must claim the prefix of its keys before its first write. The guard grants the
// claim only if no key exists below the prefix, if all keys there are left from an earlier run of
// quorumbench, or if the load is permitted to overwrite other keys. In the first two cases, it
// writes a marker, so that a later command can recognize the run's keys if the run is killed. At
// the end of the run, it then removes the keys below the prefix. If other programs have written keys
// there in the meantime, it removes only keys whose names match those of the run's keys.
package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Options configure a Guard.
type Options struct {
	Client
	Tool  string // version of quorumbench
	Flags string // flags with which the cleanup command connects to this cluster
	// InPod is set if this process runs in a pod. Then the suggested cleanup commands name the run,
	// because they run in other pods, which cannot determine whether the run has ended.
	InPod  bool
	Notify func(string) // receives lines for the user
	Now    func() time.Time
	// DefaultPrefixes contains the default prefixes of loads.
	DefaultPrefixes []string
	// Siblings returns the run's guards for other endpoints, such as those of a proxy. These
	// endpoints may belong to the same cluster. The field may be nil.
	Siblings func() []*Guard
}

// Guard protects one cluster during one run. For a cluster that the run started, the Guard is nil
// and has no effect.
type Guard struct {
	Options
	claims          []*claim
	announcedLeases bool     // whether the user was notified that leases are granted
	leases          []string // leases or sessions that were granted to the run's loads
}

// claim is a prefix below which the run writes.
type claim struct {
	Plan
	marker          *Marker // nil if other keys may exist below the prefix
	mayHaveOthers   bool    // whether other keys may exist below the prefix
	removalObstacle error   // reason why the keys cannot be removed, or nil if they can
}

// New returns the guard for a cluster.
func New(o Options) *Guard { return &Guard{Options: o} }

// NotEmptyError reports that quorumbench did not write all keys below a prefix, or that another run
// uses the prefix.
type NotEmptyError struct {
	Prefix     string
	Keys       int64    // lower bound for the number of keys
	SampleKeys []string // names of some keys
	Running    string   // describes the other run that uses or may use the prefix; empty if no such run is known
	Remedy     string
}

// Error returns a sentence.
func (e *NotEmptyError) Error() string {
	what := text.Plural(uint64(max(e.Keys, 1)), "key")
	if e.Keys == 0 || e.Keys >= maxExamples {
		what = "keys"
	}
	if len(e.SampleKeys) > 0 {
		what += fmt.Sprintf(", such as %q,", e.SampleKeys[0])
	}
	if e.Running != "" {
		return fmt.Sprintf("prefix %q is in use by %s; %s", e.Prefix, e.Running, e.Remedy)
	}
	return fmt.Sprintf("prefix %q is not empty: it contains %s that no run of quorumbench wrote; %s", e.Prefix, what, e.Remedy)
}

// cleanupCommand returns the command that removes a run's keys below a prefix.
func (g *Guard) cleanupCommand(prefix, run string) string {
	command := fmt.Sprintf("quorumbench cleanup %s --prefix %s", g.Flags, text.ShellQuote(prefix))
	if g.InPod && run != "" {
		command += " --run " + run
	}
	return command
}

// remedy is the advice for a prefix below which other keys exist.
const remedy = "choose another prefix, or allow the load to replace and delete these keys (overwrite-existing)"

// rewrite replaces the stored marker of this run with its changed version m.
func (g *Guard) rewrite(ctx context.Context, m *Marker) error {
	if err := g.put(ctx, MarkerKey(m.Prefix), m.encode()); err != nil {
		return fmt.Errorf("cannot write the key %q: %w", MarkerKey(m.Prefix), err)
	}
	return nil
}

// findClaim returns this run's claim that covers a prefix, or nil if no claim covers it.
func (g *Guard) findClaim(prefix string) *claim {
	i := slices.IndexFunc(g.claims, func(c *claim) bool {
		return c.Prefix == prefix || strings.HasSuffix(c.Prefix, "/") && strings.HasPrefix(prefix, c.Prefix)
	})
	if i < 0 {
		return nil
	}
	return g.claims[i]
}

// ownClaim returns this run's claim whose marker is m, or nil if the marker belongs to another run.
func (g *Guard) ownClaim(m *Marker) *claim {
	i := slices.IndexFunc(g.claims, func(c *claim) bool { return c.marker != nil && c.marker.Run == m.Run })
	if i < 0 {
		return nil
	}
	return g.claims[i]
}

// delegate handles a marker that a sibling guard wrote. It lets this sibling claim the plan's
// prefix, and returns errCovered. If no sibling wrote the marker, delegate returns nil.
//
// Example: one trial in a run connects to etcd directly, and the next trial connects to the same
// etcd through a relay. The second trial's guard then finds the marker that the first trial's guard
// wrote.
func (g *Guard) delegate(ctx context.Context, m *Marker, p *Plan) error {
	if g.Siblings == nil {
		return nil
	}
	for _, sibling := range g.Siblings() {
		if sibling == g || sibling.ownClaim(m) == nil || sibling.findClaim(p.Prefix) == nil {
			continue
		}
		if err := sibling.Claim(ctx, *p); err != nil {
			return err
		}
		return errCovered
	}
	return nil
}

// readMarker reads the marker for a prefix; found is false if no marker exists.
func (g *Guard) readMarker(ctx context.Context, prefix string) (m *Marker, found bool, err error) {
	key := MarkerKey(prefix)
	value, found, err := g.get(ctx, key)
	if err != nil {
		if IsDenied(err) {
			return nil, false, nil // without the right to access this key, no earlier run of this user can have written a marker
		}
		return nil, false, fmt.Errorf("cannot read the key %q, which shows who wrote the keys with prefix %q: %w", key, prefix, err)
	}
	if !found {
		return nil, false, nil
	}
	one, ok := parseMarker(value, prefix)
	if !ok {
		return nil, false, &NotEmptyError{Prefix: prefix, Keys: 1, SampleKeys: []string{key}, Remedy: "choose another prefix"}
	}
	return &one, true, nil
}

// RecordLeases records leases or sessions that were granted to one of the run's loads. They are
// revoked when the run ends.
func (g *Guard) RecordLeases(names []string) {
	if g != nil {
		g.leases = append(g.leases, names...)
	}
}

// AnnounceLeases notifies the user that the run will grant n leases or sessions.
func (g *Guard) AnnounceLeases(n int, ttl time.Duration) {
	if g == nil || g.announcedLeases {
		return
	}
	g.announcedLeases = true
	g.Notify(fmt.Sprintf("grants %s in the running cluster and revokes them at the end; if the run is killed, they expire within %v", text.Plural(uint64(max(n, 0)), "lease"), ttl)) // #nosec G115 -- not negative
}

// HasClaims reports whether the run has claimed any prefix.
func (g *Guard) HasClaims() bool { return len(g.claims) > 0 }

// admin opens an administration connection to the cluster.
func (g *Guard) admin() (store.Admin, error) { return g.Store.Admin(g.Access) }
