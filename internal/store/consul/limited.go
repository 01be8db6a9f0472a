package consul

import (
	"context"
	"errors"
	"hash/fnv"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Notes about data that a token without the right agent:read cannot read.
const (
	hiddenRoleNote = "the members' names and roles are unknown, because the token lacks agent:read"
	hiddenNameNote = "the members' names are unknown and their roles are inferred from their addresses, because the token lacks agent:read"
)

// errNoList means that the token may not list the members and that the agent knows no leader.
var errNoList = errors.New("cannot read Consul's member list: the agent returned no servers; give the token the right node:read, or wait until the cluster has a leader")

// lacksPermission reports whether an error means that the agent knows the token but the token lacks
// a right. An unknown token leads to a different error.
func lacksPermission(err error) bool {
	var status api.StatusError
	return errors.As(err, &status) && status.Code == http.StatusForbidden && strings.HasPrefix(strings.TrimSpace(status.Body), "Permission denied")
}

// askLimited requests the data that every token may read: the agent's version, and the RPC
// addresses of the servers and of the leader. It assumes that the agent is the only server on the
// endpoint's host. If that host has no server or several servers, the role is unknown.
func (a *admin) askLimited(ctx context.Context, i int) store.Member {
	m := store.Member{Endpoint: a.endpoints[i], HiddenData: hiddenRoleNote, ID: addressID(a.endpoints[i])}
	leader, err := a.leader(ctx, i)
	if err != nil {
		return a.failedMember(i, ctx, err)
	}
	var version struct{ HumanVersion string }
	// Consul before 1.15 does not have this endpoint, so ignore the error.
	_, _ = a.clients[i].Raw().Query("/v1/agent/version", &version, (&api.QueryOptions{}).WithContext(ctx))
	m.Version, m.Peers = version.HumanVersion, a.peers(ctx, i)
	rpc := serverOnHost(m.Endpoint, m.Peers)
	if rpc != "" {
		m.ID, m.HiddenData = addressID(rpc), hiddenNameNote
	}
	switch {
	case rpc == "" || leader == "":
	case rpc == leader:
		m.Role, m.Leader = kv.Leader, m.ID
	default:
		m.Role = kv.Follower
	}
	return a.remember(i, m, rpc, leader)
}

// serverOnHost returns the RPC address of the only server on the endpoint's host, or "" if that
// host has no server or several servers.
func serverOnHost(endpoint string, peers []string) (rpc string) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return ""
	}
	for _, p := range peers {
		if at, _, err := net.SplitHostPort(p); err != nil || at != host {
			continue
		}
		if rpc != "" {
			return ""
		}
		rpc = p
	}
	return rpc
}

// addressID derives a number from an address, for a member whose ID is unknown.
func addressID(address string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(address)) // never fails
	return h.Sum64()
}

// membersByAddress returns the members if the token may not list agents. For each server in peers,
// it returns the responding member with the same ID. If no responding member has this ID, it
// returns a member whose name is the server's RPC address. If as many servers as responding members
// remain without a match, it returns those responding members instead of the members named by
// address.
func (a *admin) membersByAddress(s *store.Status, peers []string) (out []store.Member, err error) {
	if len(peers) == 0 {
		return nil, errNoList
	}
	left := slices.DeleteFunc(slices.Clone(s.Members), func(m store.Member) bool { return m.Err != nil })
	taken := map[string]bool{}
	for i := range left {
		taken[left[i].Endpoint] = true
	}
	_, port, _ := net.SplitHostPort(a.endpoints[0])
	var open []store.Member
	for _, p := range peers {
		a.mu.Lock()
		id := a.servers[p]
		a.mu.Unlock()
		if k := slices.IndexFunc(left, func(m store.Member) bool { return m.ID == id }); id != 0 && k >= 0 {
			out, left = append(out, left[k]), slices.Delete(left, k, k+1)
			continue
		}
		host, _, _ := net.SplitHostPort(p)
		server := store.Member{ID: addressID(p), Name: p}
		if e := net.JoinHostPort(host, port); !taken[e] { // if e is another member's address, the port of this member is unknown
			server.Endpoint, taken[e] = e, true
		}
		open = append(open, server)
	}
	if len(open) == len(left) {
		open = left
	}
	return append(out, open...), nil
}
