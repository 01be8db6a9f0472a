package consul

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// MoveLeader implements store.Operator. Members forward the request to the
// leader.
func (a *admin) MoveLeader(ctx context.Context, member uint64) error {
	c, err := a.firstClient(ctx)
	if err != nil {
		return err
	}
	query := (&api.QueryOptions{}).WithContext(ctx)
	raft, err := c.Operator().RaftGetConfiguration(query)
	if err != nil {
		return fmt.Errorf("cannot read Consul's Raft configuration: %s", reason(ctx, err))
	}
	for _, s := range raft.Servers {
		if memberID(s.ID) != member {
			continue
		}
		if s.Leader {
			return nil
		}
		if _, err := c.Operator().RaftLeaderTransfer(s.ID, query); err != nil {
			return fmt.Errorf("Consul did not transfer leadership to %s: %s", s.Node, reason(ctx, err)) //nolint:staticcheck // a name
		}
		return nil
	}
	return fmt.Errorf("Consul has no member with the ID %x", member) //nolint:staticcheck // a name
}

// maxSnapshot limits how many bytes of a snapshot are read.
const maxSnapshot = 16 << 30

// PerformMaintenance implements store.Operator. The only supported feature is kv.Snapshots. A
// follower takes a snapshot of its own state.
func (a *admin) PerformMaintenance(ctx context.Context, feature kv.Feature, member store.Member) (undo func(context.Context) error, err error) {
	i := slices.Index(a.endpoints, member.Endpoint)
	if feature != kv.Snapshots || i < 0 {
		return nil, fmt.Errorf("Consul cannot perform the maintenance work %s on the member %q", feature, member.Endpoint) //nolint:staticcheck // a name
	}
	query := (&api.QueryOptions{AllowStale: true}).WithContext(httpkv.WithResponseLimit(ctx, maxSnapshot))
	r, _, err := a.clients[i].Snapshot().Save(query)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close() // ignore the error: everything was read
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a snapshot of %s: %s", member.Endpoint, reason(ctx, err))
	}
	return nil, nil
}

// Replace implements store.Operator. It removes the member from Raft. It also removes the member
// from the list of agents, because a member with the same name but another ID will join.
func (a *admin) Replace(ctx context.Context, removed store.Member) error {
	ctx, cancel := context.WithTimeout(ctx, replaceTimeout)
	defer cancel()
	ticker := time.NewTicker(replaceInterval)
	defer ticker.Stop()
	for {
		err := a.removeServer(ctx, removed)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Consul did not remove the member %s: %w", removed.Name, err) //nolint:staticcheck // a name
		case <-ticker.C: // try again, because the cluster has no leader for some time if the member was the leader
		}
	}
}

// Limits for retrying a removal.
const (
	replaceTimeout  = 30 * time.Second
	replaceInterval = 200 * time.Millisecond
)

func (a *admin) removeServer(ctx context.Context, removed store.Member) error {
	c, err := a.firstClient(ctx)
	if err != nil {
		return err
	}
	query := (&api.QueryOptions{}).WithContext(ctx)
	raft, err := c.Operator().RaftGetConfiguration(query)
	if err != nil {
		return errors.New(reason(ctx, err))
	}
	for _, s := range raft.Servers {
		if memberID(s.ID) != removed.ID {
			continue
		}
		if err := c.Operator().RaftRemovePeerByID(s.ID, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
			return errors.New(reason(ctx, err))
		}
	}
	if err := c.Agent().ForceLeaveOptions(removed.Name, api.ForceLeaveOpts{Prune: true}, query); err != nil {
		return errors.New(reason(ctx, err))
	}
	return nil
}

// maxKeys limits the size of a response with a list of keys, in bytes.
const maxKeys = 256 << 20

// DeletePrefix implements store.Cleaner.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	p := string(httpkv.TrimSlash(prefix))
	if p == "" {
		return 0, errors.New("an empty prefix would delete every key of the Consul cluster")
	}
	c, err := a.firstClient(ctx)
	if err != nil {
		return 0, err
	}
	listing := httpkv.WithResponseLimit(ctx, maxKeys)
	keys, _, err := c.KV().Keys(p, "", (&api.QueryOptions{RequireConsistent: true}).WithContext(listing))
	if err == nil {
		_, err = c.KV().DeleteTree(p, (&api.WriteOptions{}).WithContext(ctx))
	}
	if err != nil {
		return 0, fmt.Errorf("Consul did not delete the keys with the prefix %q: %s", prefix, reason(ctx, err)) //nolint:staticcheck // a name
	}
	return int64(len(keys)), nil
}

// firstClient returns the client for the first endpoint that responds and knows a leader.
func (a *admin) firstClient(ctx context.Context) (*api.Client, error) {
	var errs []string
	for i, e := range a.endpoints {
		limited, cancel := context.WithTimeout(ctx, a.timeout)
		leader, err := a.leader(limited, i)
		cancel()
		switch {
		case err != nil:
			errs = append(errs, fmt.Sprintf("%s did not respond like Consul: %s", e, reason(limited, err)))
		case leader == "":
			errs = append(errs, e+" knows no leader")
		default:
			return a.clients[i], nil
		}
	}
	return nil, errors.New(strings.Join(errs, "; "))
}
