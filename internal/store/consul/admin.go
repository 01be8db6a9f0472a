package consul

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// admin asks a cluster through the official client, one for each endpoint.
type admin struct {
	timeout   time.Duration // bounds one question to one endpoint
	endpoints []string
	clients   []*api.Client
	transport *http.Transport
}

var (
	_ store.Admin      = (*admin)(nil)
	_ store.Maintainer = (*admin)(nil)
)

// Admin implements store.Store; the result is a store.Maintainer too.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the Consul cluster was given")
	}
	timeout := a.Timeout()
	scheme := "http"
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: timeout}).DialContext}
	if a.TLS != nil {
		scheme = "https"
		transport.TLSClientConfig = a.TLS.Clone()
		transport.TLSClientConfig.NextProtos = nil
	}
	admin := &admin{timeout: timeout, endpoints: a.Endpoints, transport: transport}
	for _, e := range a.Endpoints {
		c, err := api.NewClient(&api.Config{
			Address: e, Scheme: scheme, Token: tokenOf(a), HttpClient: &http.Client{Transport: transport},
		})
		if err != nil {
			return nil, fmt.Errorf("no client of Consul for %s: %w", e, err)
		}
		admin.clients = append(admin.clients, c)
	}
	return admin, nil
}

// Close implements store.Admin.
func (a *admin) Close() error {
	a.transport.CloseIdleConnections()
	return nil
}

// Status implements store.Admin. Every endpoint is asked by itself and at the
// same time.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	return store.AskAll(len(a.endpoints), func(i int) store.Member { return a.ask(ctx, i) })
}

// ask asks one agent about itself: its version, and the state of its Raft.
func (a *admin) ask(ctx context.Context, i int) store.Member {
	m := store.Member{Endpoint: a.endpoints[i]}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var self struct {
		Config struct{ NodeName, NodeID, Version string }
		Stats  struct {
			Raft struct{ State, Term string }
		}
	}
	if _, err := a.clients[i].Raw().Query("/v1/agent/self", &self, (&api.QueryOptions{}).WithContext(ctx)); err != nil {
		m.Err = fmt.Errorf("%s does not answer as Consul: %s", m.Endpoint, reason(ctx, err))
		return m
	}
	if self.Config.NodeID == "" {
		m.Err = fmt.Errorf("%s does not answer as Consul: it tells no node id", m.Endpoint)
		return m
	}
	m.ID, m.Name, m.Version = memberID(self.Config.NodeID), self.Config.NodeName, self.Config.Version
	m.Term, _ = strconv.ParseUint(self.Stats.Raft.Term, 10, 64)
	switch self.Stats.Raft.State {
	case "Leader":
		m.Role = kv.Leader
	case "Follower":
		// One that waits for an election to begin is a follower too.
		if leader, err := a.leader(ctx, i); err == nil && leader != "" {
			m.Role = kv.Follower
		}
	}
	return m
}

// leader asks an agent for the leader's RPC address; empty if it knows none.
func (a *admin) leader(ctx context.Context, i int) (string, error) {
	return a.clients[i].Status().LeaderWithQueryOptions((&api.QueryOptions{}).WithContext(ctx))
}

// memberID is a node's id as a number: the first half of its UUID.
func memberID(uuid string) uint64 {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(b) < 8 {
		return 0
	}
	n := uint64(0)
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}

// Members implements store.Admin. Servers tell each other neither their HTTP
// addresses nor ports: those among the endpoints are known, and for the others
// the port is taken to be that of the first endpoint.
func (a *admin) Members(ctx context.Context) ([]string, error) {
	s, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	known, taken := map[string]string{}, map[string]bool{}
	asked := -1
	for i, m := range s.Members {
		if m.Err == nil {
			known[m.Name], taken[m.Endpoint] = m.Endpoint, true
			asked = max(asked, i)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var members []*api.AgentMember
	if _, err := a.clients[asked].Raw().Query("/v1/agent/members", &members, (&api.QueryOptions{}).WithContext(ctx)); err != nil {
		return nil, fmt.Errorf("the list of Consul's members cannot be read: %s", reason(ctx, err))
	}
	_, port, _ := net.SplitHostPort(a.endpoints[0])
	var out []string
	for _, m := range members {
		if m.Tags["role"] != "consul" { // a client agent
			continue
		}
		e, ok := known[m.Name]
		if !ok {
			if e = net.JoinHostPort(m.Addr, port); taken[e] {
				return nil, fmt.Errorf("Consul does not tell the HTTP port of its member %s: name all endpoints", m.Name) //nolint:staticcheck // a name
			}
			taken[e] = true
		}
		out = append(out, e)
	}
	return out, nil
}
