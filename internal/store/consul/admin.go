package consul

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// admin asks a cluster through the official client, one for each endpoint.
type admin struct {
	store.NoHistory

	timeout   time.Duration // bounds one question to one endpoint
	endpoints []string
	clients   []*api.Client
	http      *http.Client

	mu      sync.Mutex
	known   []store.Member    // by endpoint's number: what it said last of itself
	leaders []string          // likewise: the leader's RPC address, as it said then
	servers map[string]uint64 // members' IDs by their RPC addresses
	// sessions are the names of those that it made, by their numbers.
	sessions map[int64]string
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the Consul cluster was given")
	}
	scheme := "http"
	if a.TLS != nil {
		scheme = "https"
	}
	n := len(a.Endpoints)
	admin := &admin{
		timeout: a.Timeout(), endpoints: a.Endpoints, http: httpkv.Client(a),
		known: make([]store.Member, n), leaders: make([]string, n), servers: map[string]uint64{},
	}
	admin.http.Transport = asGiven{admin.http.Transport, tokenOf(a)}
	for _, e := range a.Endpoints {
		c, err := api.NewClient(&api.Config{
			Address: e, Scheme: scheme, Token: anyToken, HttpClient: admin.http,
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
	a.http.CloseIdleConnections()
	return nil
}

// Status implements store.Admin. Every endpoint is asked by itself and at the
// same time.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	return store.AskAll(len(a.endpoints), func(i int) store.Member { return a.ask(ctx, i) })
}

// Role implements store.Admin. Which server leads is a cheap question; the
// whole of an agent's state, which has the term, is asked when the answer is
// another than before.
func (a *admin) Role(ctx context.Context, i int) store.Member {
	asked, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	leader, err := a.leader(asked, i)
	if err != nil {
		return a.unanswered(i, asked, err)
	}
	a.mu.Lock()
	m := a.known[i]
	m.Leader = a.servers[leader]
	again := m.ID == 0 || m.Role == kv.NonVoter || leader != "" && leader != a.leaders[i] // one without a vote may be given one
	a.leaders[i] = leader
	a.mu.Unlock()
	switch {
	case again:
		return a.ask(ctx, i)
	case leader == "":
		m.Role = kv.Unknown
	case m.Leader == m.ID:
		m.Role = kv.Leader
	case m.Hidden != "" && m.Role == kv.Unknown: // its address is no server's
	default:
		m.Role = kv.Follower
	}
	return m
}

// ask asks one agent about itself: its version, and the state of its Raft. A token
// without the right to it gets what every token may know.
func (a *admin) ask(ctx context.Context, i int) store.Member {
	m := store.Member{Endpoint: a.endpoints[i]}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var self struct {
		Config struct{ NodeName, NodeID, Version string }
		Member struct {
			Addr string
			Tags struct {
				Port string `json:"port"`
			}
		}
		Stats struct {
			Raft struct {
				State, Term string
				Servers     string `json:"latest_configuration"`
			}
		}
	}
	if _, err := a.clients[i].Raw().Query("/v1/agent/self", &self, (&api.QueryOptions{}).WithContext(ctx)); err != nil {
		if lacksPermission(err) {
			return a.askLimited(ctx, i)
		}
		return a.unanswered(i, ctx, err)
	}
	if self.Config.NodeID == "" {
		m.Err = fmt.Errorf("%s does not answer as Consul: it has no node id", m.Endpoint)
		return m
	}
	m.ID, m.Name, m.Version = memberID(self.Config.NodeID), self.Config.NodeName, self.Config.Version
	m.Term, _ = strconv.ParseUint(self.Stats.Raft.Term, 10, 64)
	rpc := ""
	if self.Member.Tags.Port != "" {
		rpc = net.JoinHostPort(self.Member.Addr, self.Member.Tags.Port)
	}
	leader := ""
	switch self.Stats.Raft.State {
	case "Leader":
		m.Role, m.Leader, leader = kv.Leader, m.ID, rpc
	case "Follower":
		// One that waits for an election to begin is a follower too.
		var err error
		if leader, err = a.leader(ctx, i); err == nil && leader != "" {
			m.Role = kv.Follower
			if hasNoVote(self.Stats.Raft.Servers, self.Config.NodeID) {
				m.Role = kv.NonVoter
			}
		}
	}
	m.Peers = a.peers(ctx, i)
	return a.remember(i, m, rpc, leader)
}

// peers are the RPC addresses of the servers, sorted. An agent that knows no leader tells none.
func (a *admin) peers(ctx context.Context, i int) []string {
	peers, _ := a.clients[i].Status().PeersWithQueryOptions((&api.QueryOptions{}).WithContext(ctx))
	slices.Sort(peers)
	return peers[:min(len(peers), kv.MaxMembers)]
}

// remember keeps what an agent said last of itself and of the leader, and returns it with
// the leader's number.
func (a *admin) remember(i int, m store.Member, rpc, leader string) store.Member {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rpc != "" && (len(a.servers) < kv.MaxMembers || a.servers[rpc] != 0) {
		a.servers[rpc] = m.ID
	}
	if m.Role != kv.Leader && m.Role != kv.Unknown {
		m.Leader = a.servers[leader]
	}
	a.known[i], a.leaders[i] = m, leader
	return m
}

// hasNoVote reports whether Raft's configuration, such as
// [{Suffrage:Voter ID:6f1e... Address:10.0.0.1:8300} ...], gives a server no vote: it is
// a read replica, a non-voting server, or one that joined a moment ago.
func hasNoVote(servers, id string) bool {
	before, _, found := strings.Cut(servers, " ID:"+id+" ")
	return found && !strings.HasSuffix(before, "{Suffrage:Voter")
}

// unanswered is an agent that did not answer.
func (a *admin) unanswered(i int, ctx context.Context, err error) store.Member {
	return store.Member{
		Endpoint: a.endpoints[i], Gone: store.Refused(err),
		Err: fmt.Errorf("%s does not answer as Consul: %s", a.endpoints[i], reason(ctx, err)),
	}
}

// leader asks an agent for the leader's RPC address; empty if it knows none.
func (a *admin) leader(ctx context.Context, i int) (string, error) {
	return a.clients[i].Status().LeaderWithQueryOptions((&api.QueryOptions{}).WithContext(ctx))
}

// noKey is one that no load writes.
const noKey = "quorumbench/no/such/key"

// Applied implements store.Applier: stale reads of what is not there have the index of the
// newest write that the agent's server has applied.
func (a *admin) Applied(ctx context.Context, i int) (int64, error) {
	switch m := a.ask(ctx, i); { // an agent that is no server would ask any of them
	case m.Err != nil:
		return 0, m.Err
	case m.Role == kv.Unknown && m.Hidden != "":
		return 0, fmt.Errorf("%s does not tell whether it is a server: %s", m.Endpoint, m.Hidden)
	case m.Role == kv.Unknown:
		return 0, fmt.Errorf("%s is no server of Consul, or knows no leader now", m.Endpoint)
	}
	return a.newest(ctx, i, api.QueryOptions{AllowStale: true})
}

// Newest implements store.Applier: a consistent read has that of the leader, which
// applies a write before it acknowledges it.
func (a *admin) Newest(ctx context.Context) (revision int64, err error) {
	for i := range a.clients {
		if revision, err = a.newest(ctx, i, api.QueryOptions{RequireConsistent: true}); err == nil {
			break
		}
	}
	return revision, err
}

// newest is the highest index of the keys, of the catalog and of its checks: answers have
// that of their own table. A server applies one entry of the log after the other, so that
// who has the newest of any table has all before it.
func (a *admin) newest(ctx context.Context, i int, how api.QueryOptions) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	c, opt := a.clients[i], how.WithContext(ctx)
	for _, ask := range []func() (*api.QueryMeta, error){
		// A token without a right to the key gets an empty list, and no refusal.
		func() (*api.QueryMeta, error) { _, meta, err := c.KV().Keys(noKey, "", opt); return meta, err },
		func() (*api.QueryMeta, error) {
			_, meta, err := c.Catalog().NodeServiceList(noKey, opt)
			return meta, err
		},
		func() (*api.QueryMeta, error) { _, meta, err := c.Health().Node(noKey, opt); return meta, err },
	} {
		meta, err := ask()
		if err != nil {
			return 0, fmt.Errorf("%s does not answer as Consul: %s", a.endpoints[i], reason(ctx, err))
		}
		revision = max(revision, int64(meta.LastIndex))
	}
	return revision, nil
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
func (a *admin) Members(ctx context.Context) ([]store.Member, error) {
	s, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	known, taken := map[string]store.Member{}, map[string]bool{}
	asked := -1
	for i, m := range s.Members {
		if m.Err == nil {
			known[m.Name], taken[m.Endpoint] = m, true
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
	var out []store.Member
	for _, m := range members {
		if m.Tags["role"] != "consul" { // a client agent
			continue
		}
		server := store.Member{ID: memberID(m.Tags["id"]), Name: m.Name}
		if answered, ok := known[m.Name]; ok {
			server.Endpoint = answered.Endpoint
		} else {
			e := net.JoinHostPort(m.Addr, port)
			if !taken[e] { // another member's: the port is not known
				server.Endpoint, taken[e] = e, true
			}
		}
		out = append(out, server)
	}
	if len(out) > 0 {
		return out, nil
	}
	return a.membersByAddress(&s, s.Members[asked].Peers)
}

// reason is what an error of the official client says to a user.
func reason(ctx context.Context, err error) string {
	var status api.StatusError
	if !errors.As(err, &status) {
		return httpkv.Reason(ctx, err)
	}
	if text, _, _ := strings.Cut(strings.TrimSpace(status.Body), "\n"); text != "" {
		return text[:min(len(text), httpkv.MaxText)]
	}
	return fmt.Sprintf("HTTP status %d", status.Code)
}

// UserUnchecked implements store.Admin: an agent without ACLs refuses to describe the
// token that it was given.
func (a *admin) UserUnchecked(ctx context.Context) (string, error) {
	c, err := a.first(ctx)
	if err != nil {
		return "", err
	}
	var answer api.StatusError
	_, _, err = c.ACL().TokenReadSelf((&api.QueryOptions{}).WithContext(ctx))
	if errors.As(err, &answer) && answer.Code == http.StatusUnauthorized && strings.Contains(answer.Body, "ACL support disabled") {
		return "ACLs are off in this cluster", nil
	}
	return "", err
}
