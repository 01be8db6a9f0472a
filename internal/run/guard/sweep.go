package guard

import (
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxSweptKeys is the maximum number of keys that are removed one by one, including keys that may
// not exist.
const maxSweptKeys = 10_000_000

// Parameters of the load that removes keys one by one.
const (
	sweepConnections = 8
	sweepClients     = 64
)

// removeByName removes the keys that a marker describes, one by one, and no other keys. It is used
// for stores that cannot delete by prefix, and for keys without a prefix.
func (g *Guard) removeByName(ctx context.Context, m *Marker) (removed int64, err error) {
	if err := g.Remove(ctx, string(load.ProbeKey(m.Prefix))); err != nil {
		return 0, err
	}
	for _, n := range m.Names {
		if n.KeySpace == 0 {
			return removed, fmt.Errorf("the names of the keys below %q are unknown, and %s cannot delete by prefix", m.Prefix, g.Store.Name())
		}
		in, err := KeySpaceInterval(m.Prefix, n.KeySize, n.KeySpace)
		if err != nil {
			return removed, err
		}
		remaining, _, err := g.Count(ctx, in)
		switch {
		case err != nil:
			return removed, err
		case remaining == 0:
			continue
		case n.KeySpace > maxSweptKeys:
			return removed, fmt.Errorf("up to %s keys may exist, which is too many to remove one by one", text.Count(n.KeySpace))
		}
		deleted, err := g.sweep(ctx, m.Prefix, &n)
		if removed += deleted; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sweep deletes all keys of a key space.
func (g *Guard) sweep(ctx context.Context, prefix string, n *Names) (int64, error) {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Delete, Weight: 1}}
	l.Prefix, l.KeySize, l.KeySpace = prefix, n.KeySize, n.KeySpace
	l.Distribution = scenario.Distribution{Name: scenario.Sequential}
	l.Total, l.Duration, l.Seed = n.KeySpace, 0, scenario.DefaultSeed
	l.Connections, l.Clients = sweepConnections, sweepClients
	if g.Store.Capabilities().MaxInFlight == 1 {
		l.Clients = l.Connections
	}
	w := &load.Local{
		Stores: func(string) (store.Store, error) { return g.Store, nil },
		Access: func(*scenario.RunningCluster) (store.Access, error) { return g.Access, nil },
	}
	a := &load.Assignment{Load: l, Store: g.Store.Name(), Endpoints: g.Access.Endpoints}
	res, err := load.Run(ctx, w, a, load.Reports{})
	if err != nil {
		return 0, err
	}
	deleted := int64(res.Measured.Outcomes[kv.OK]) // #nosec G115 -- at most maxSweptKeys
	if n := res.Measured.Failed(); n > 0 {
		err = fmt.Errorf("%d of %d keys could not be deleted", n, res.Measured.Due)
	}
	return deleted, err
}
