// Package guard protects what is in a cluster that ran before the run. Every path that
// writes to such a cluster claims the prefix of its keys here before its first write.
// A claim proves that no key was below the prefix, or that an earlier run of ours left
// what is there; it leaves a marker from which a later command tells what a killed run
// left; and it removes everything below the prefix at the end of the run.
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

// Options are what a Guard needs to know.
type Options struct {
	Client
	Tool  string       // the program's version
	Flags string       // of the cleanup command, by which it reaches this cluster
	Say   func(string) // takes a line for the user
	Now   func() time.Time
	// Known are the prefixes that loads have unless others are given.
	Known []string
	// Siblings returns the run's guards of other endpoints, which may be endpoints of the
	// same cluster, such as a proxy's. Nil: there are none.
	Siblings func() []*Guard
}

// Guard protects one cluster in one run. The nil Guard is that of a cluster that the run
// started itself, and protects nothing.
type Guard struct {
	Options
	claims  []*claim
	granted bool     // it was said
	leases  []string // that the loads of the run were granted
}

// claim is one prefix that the run writes below.
type claim struct {
	Plan
	marker *Marker // nil: none is there
	others bool    // keys that are not ours may be there
	stuck  error   // why its keys cannot be removed; nil: they can
}

// New returns the guard of a cluster.
func New(o Options) *Guard { return &Guard{Options: o} }

// NotEmptyError says that keys are below a prefix which no run of ours wrote.
type NotEmptyError struct {
	Prefix  string
	Keys    int64    // at least
	Some    []string // of their names
	Running string   // the run whose keys they are, which goes on, or may; else empty
	Remedy  string
}

// Error is a sentence.
func (e *NotEmptyError) Error() string {
	what := text.Plural(uint64(max(e.Keys, 1)), "key")
	if e.Keys == 0 || e.Keys >= mostExamples {
		what = "keys"
	}
	if len(e.Some) > 0 {
		what += fmt.Sprintf(", such as %q,", e.Some[0])
	}
	if e.Running != "" {
		return fmt.Sprintf("prefix %q is in use by %s; %s", e.Prefix, e.Running, e.Remedy)
	}
	verb := "are"
	if e.Keys == 1 {
		verb = "is"
	}
	return fmt.Sprintf("prefix %q has keys: %s %s there, which no run of quorumbench wrote; %s", e.Prefix, what, verb, e.Remedy)
}

// remedy is what to do where a prefix has keys that are not ours.
const remedy = "choose another prefix, or allow it to replace and delete them (overwrite-existing)"

// rewrite writes a marker of this run anew.
func (g *Guard) rewrite(ctx context.Context, m *Marker) error {
	if err := g.put(ctx, MarkerKey(m.Prefix), m.encode()); err != nil {
		return fmt.Errorf("the key %q cannot be written: %w", MarkerKey(m.Prefix), err)
	}
	return nil
}

// holds is the claim of this run that covers a prefix; nil if none does.
func (g *Guard) holds(prefix string) *claim {
	i := slices.IndexFunc(g.claims, func(c *claim) bool {
		return c.Prefix == prefix || strings.HasSuffix(c.Prefix, "/") && strings.HasPrefix(prefix, c.Prefix)
	})
	if i < 0 {
		return nil
	}
	return g.claims[i]
}

// mine is this run's claim that a marker is of.
func (g *Guard) mine(m *Marker) *claim {
	i := slices.IndexFunc(g.claims, func(c *claim) bool { return c.marker != nil && c.marker.Run == m.Run })
	if i < 0 {
		return nil
	}
	return g.claims[i]
}

// delegate lets a sibling claim the plan's prefix if the sibling wrote the marker. It
// returns errCovered then, and nil if no sibling did.
//
// Example: one trial of a run reaches an etcd directly and the next one reaches the same
// etcd through a relay. The second guard finds the marker of the first one.
func (g *Guard) delegate(ctx context.Context, m *Marker, p *Plan) error {
	if g.Siblings == nil {
		return nil
	}
	for _, sibling := range g.Siblings() {
		if sibling == g || sibling.mine(m) == nil || sibling.holds(p.Prefix) == nil {
			continue
		}
		if err := sibling.Claim(ctx, *p); err != nil {
			return err
		}
		return errCovered
	}
	return nil
}

// readMarker reads the marker of a prefix; found is false where there is none.
func (g *Guard) readMarker(ctx context.Context, prefix string) (m *Marker, found bool, err error) {
	key := MarkerKey(prefix)
	value, found, err := g.get(ctx, key)
	if err != nil {
		if Denied(err) {
			return nil, false, nil // nor can any run of this user have written it
		}
		return nil, false, fmt.Errorf("the key %q, which says whose the keys with prefix %q are, cannot be read: %w", key, prefix, err)
	}
	if !found {
		return nil, false, nil
	}
	one, ok := parseMarker(value, prefix)
	if !ok {
		return nil, false, &NotEmptyError{Prefix: prefix, Keys: 1, Some: []string{key}, Remedy: "choose another prefix"}
	}
	return &one, true, nil
}

// Granted takes the names of leases, or sessions, that a load of the run was granted. They
// are ended with the run.
func (g *Guard) Granted(names []string) {
	if g != nil {
		g.leases = append(g.leases, names...)
	}
}

// argument is a prefix as a shell takes it.
func argument(prefix string) string {
	if prefix == "" || strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"`$&|;<>()*?[]#~!\\{}", r) }) {
		return "'" + strings.ReplaceAll(prefix, "'", `'\''`) + "'"
	}
	return prefix
}

// Grants says that the run grants leases, or sessions, of its own.
func (g *Guard) Grants(n int, ttl time.Duration) {
	if g == nil || g.granted {
		return
	}
	g.granted = true
	g.Say(fmt.Sprintf("grants %s in the running cluster and revokes them at the end; after a kill they end by themselves within %v", text.Plural(uint64(max(n, 0)), "lease"), ttl)) // #nosec G115 -- not negative
}

// Holds reports whether the run has claimed anything.
func (g *Guard) Holds() bool { return len(g.claims) > 0 }

// admin is an administration of the cluster.
func (g *Guard) admin() (store.Admin, error) { return g.Store.Admin(g.Access) }
