package consul

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

var (
	_ store.Leaser   = (*admin)(nil)
	_ store.Operator = (*admin)(nil)
	_ store.Cleaner  = (*admin)(nil)
)

// KeysWithPrefix implements store.Cleaner.
func (a *admin) KeysWithPrefix(ctx context.Context, prefix []byte, limit int) (names []string, more bool, err error) {
	c, err := a.firstClient(ctx)
	if err != nil {
		return nil, false, err
	}
	bare := string(httpkv.TrimSlash(prefix))
	query := (&api.QueryOptions{RequireConsistent: true}).WithContext(httpkv.WithResponseLimit(ctx, maxKeys))
	if names, _, err = c.KV().Keys(bare, "", query); err != nil {
		return nil, false, fmt.Errorf("Consul did not list the keys with the prefix %q: %s", prefix, reason(ctx, err)) //nolint:staticcheck // a name
	}
	cut := string(prefix[:len(prefix)-len(bare)]) // the leading slash, which Consul omits
	for i := range names {
		names[i] = cut + names[i]
	}
	return names[:min(len(names), limit)], len(names) > limit, nil
}

// listTimeout limits how long a request for keys with their values may take.
const listTimeout = 20 * time.Second

// LeasesWithPrefix implements store.Leaser. It returns the sessions that hold at least one key with
// the prefix. Such a session may also hold other keys, because Consul cannot list a session's keys.
func (a *admin) LeasesWithPrefix(ctx context.Context, prefix []byte) ([]string, error) {
	c, err := a.firstClient(ctx)
	if err != nil {
		return nil, err
	}
	asked, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	query := (&api.QueryOptions{RequireConsistent: true}).WithContext(httpkv.WithResponseLimit(asked, maxKeys))
	pairs, _, err := c.KV().List(string(httpkv.TrimSlash(prefix)), query)
	if err != nil {
		return nil, fmt.Errorf("Consul did not list the keys with the prefix %q: %s", prefix, reason(asked, err)) //nolint:staticcheck // a name
	}
	var names []string
	for _, p := range pairs {
		if p.Session != "" {
			names = append(names, p.Session)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// EndLeases implements store.Leaser.
func (a *admin) EndLeases(ctx context.Context, names []string) error {
	ids := make([]int64, len(names))
	for i, name := range names {
		ids[i] = a.keepSession(name)
	}
	return a.Revoke(ctx, ids)
}

// Services implements store.Cleaner. Each service instance has its own node with the same name, so
// Services returns the names of nodes.
func (a *admin) Services(ctx context.Context, prefix string) ([]string, error) {
	c, err := a.firstClient(ctx)
	if err != nil {
		return nil, err
	}
	query := (&api.QueryOptions{RequireConsistent: true}).WithContext(httpkv.WithResponseLimit(ctx, maxKeys))
	nodes, _, err := c.Catalog().Nodes(query)
	if err != nil {
		return nil, fmt.Errorf("Consul did not list the nodes of its catalog: %s", reason(ctx, err)) //nolint:staticcheck // a name
	}
	var names []string
	for _, n := range nodes {
		if strings.HasPrefix(n.Node, prefix) {
			names = append(names, n.Node)
		}
	}
	return names, nil
}

// RemoveServices implements store.Cleaner.
func (a *admin) RemoveServices(ctx context.Context, names []string) error {
	err := a.runConcurrently(ctx, len(names), func(ctx context.Context, c *api.Client, i int) error {
		_, err := c.Catalog().Deregister(&api.CatalogDeregistration{Node: names[i]}, (&api.WriteOptions{}).WithContext(ctx))
		return err
	})
	if err != nil {
		return fmt.Errorf("Consul did not deregister nodes of its catalog: %w", err) //nolint:staticcheck // a name
	}
	return nil
}
