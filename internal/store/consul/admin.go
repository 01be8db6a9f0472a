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

// admin implements store.Admin. It has one official client per endpoint.
type admin struct {
	store.NoHistory

	timeout   time.Duration // limit for one request to one endpoint
	endpoints []string
	clients   []*api.Client
	http      *http.Client

	mu      sync.Mutex
	known   []store.Member    // latest status, by index of the endpoint
	leaders []string          // RPC address of the leader when that status was read, by index of the endpoint
	servers map[string]uint64 // member IDs by RPC address
	// sessions contains the sessions that Grant created. It maps a session's number to the
	// session's name.
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
	admin.http.Transport = tokenTransport{admin.http.Transport, accessToken(a)}
	for _, e := range a.Endpoints {
		c, err := api.NewClient(&api.Config{
			Address: e, Scheme: scheme, Token: placeholderToken, HttpClient: admin.http,
		})
		if err != nil {
			return nil, fmt.Errorf("cannot create a Consul client for %s: %w", e, err)
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

// Status implements store.Admin. It queries all endpoints concurrently.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	return store.AskAll(len(a.endpoints), func(i int) store.Member { return a.askAgent(ctx, i) })
}

// Role implements store.Admin. A request for the leader's address is cheap. Role requests the
// agent's whole state, which includes the term, only in three cases: the leader has changed since
// the previous call, the member is a non-voter, or no state is known yet.
func (a *admin) Role(ctx context.Context, i int) store.Member {
	asked, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	leader, err := a.leader(asked, i)
	if err != nil {
		return a.failedMember(i, asked, err)
	}
	a.mu.Lock()
	m := a.known[i]
	m.Leader = a.servers[leader]
	again := m.ID == 0 || m.Role == kv.NonVoter || leader != "" && leader != a.leaders[i] // a non-voter may have become a voter
	if !again {
		a.leaders[i] = leader
	}
	a.mu.Unlock()
	switch {
	case again: // askAgent stores the new leader, but only if the agent responds
		return a.askAgent(ctx, i)
	case leader == "":
		m.Role = kv.UnknownRole
	case m.Leader == m.ID:
		m.Role = kv.Leader
	case m.HiddenData != "" && m.Role == kv.UnknownRole: // no server has the endpoint's address, so the role remains unknown
	default:
		m.Role = kv.Follower
	}
	return m
}

// askAgent requests an agent's version and Raft state. If the token lacks the right to read this
// data, askAgent requests only the data that every token may read.
func (a *admin) askAgent(ctx context.Context, i int) store.Member {
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
		return a.failedMember(i, ctx, err)
	}
	if self.Config.NodeID == "" {
		m.Err = fmt.Errorf("%s did not respond like Consul: its response contains no node ID", m.Endpoint)
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
		// A candidate also reports the state Follower, but it knows no leader.
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

// peers returns the sorted RPC addresses of the servers, or no addresses if the agent knows no
// leader.
func (a *admin) peers(ctx context.Context, i int) []string {
	peers, _ := a.clients[i].Status().PeersWithQueryOptions((&api.QueryOptions{}).WithContext(ctx))
	slices.Sort(peers)
	return peers[:min(len(peers), kv.MaxMembers)]
}

// remember stores an agent's latest status and leader. It returns the status with the leader's ID
// added.
func (a *admin) remember(i int, m store.Member, rpc, leader string) store.Member {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rpc != "" && (len(a.servers) < kv.MaxMembers || a.servers[rpc] != 0) {
		a.servers[rpc] = m.ID
	}
	if m.Role != kv.Leader && m.Role != kv.UnknownRole {
		m.Leader = a.servers[leader]
	}
	a.known[i], a.leaders[i] = m, leader
	return m
}

// hasNoVote reports whether a server has no vote according to Raft's configuration, such as
// [{Suffrage:Voter ID:6f1e... Address:10.0.0.1:8300} ...]. A read replica, a non-voting server, and
// a server that has just joined have no vote.
func hasNoVote(servers, id string) bool {
	before, _, found := strings.Cut(servers, " ID:"+id+" ")
	return found && !strings.HasSuffix(before, "{Suffrage:Voter")
}

// failedMember returns the status for an agent that did not respond.
func (a *admin) failedMember(i int, ctx context.Context, err error) store.Member {
	return store.Member{
		Endpoint: a.endpoints[i], ProcessEnded: store.IsConnectionRefused(err),
		Err: fmt.Errorf("%s did not respond like Consul: %s", a.endpoints[i], reason(ctx, err)),
	}
}

// leader returns the RPC address of the server that an agent reports as leader, or "" if the agent
// knows no leader.
func (a *admin) leader(ctx context.Context, i int) (string, error) {
	return a.clients[i].Status().LeaderWithQueryOptions((&api.QueryOptions{}).WithContext(ctx))
}

// noKey is a key that no load writes, so reads of it never find anything.
const noKey = "quorumbench/no/such/key"

// Applied implements store.Applier. It sends stale reads of a missing key: the response contains
// the index of the newest write that the agent's server has applied.
func (a *admin) Applied(ctx context.Context, i int) (int64, error) {
	switch m := a.askAgent(ctx, i); { // a client agent would forward the reads to any server
	case m.Err != nil:
		return 0, m.Err
	case m.Role == kv.UnknownRole && m.HiddenData != "":
		return 0, fmt.Errorf("quorumbench cannot determine whether %s is a Consul server: %s", m.Endpoint, m.HiddenData)
	case m.Role == kv.UnknownRole:
		return 0, fmt.Errorf("%s is not a Consul server, or currently knows no leader", m.Endpoint)
	}
	return a.newest(ctx, i, api.QueryOptions{AllowStale: true})
}

// Newest implements store.Applier. A consistent read returns the leader's index. This index
// includes all acknowledged writes, because the leader applies each write before it acknowledges
// the write.
func (a *admin) Newest(ctx context.Context) (revision int64, err error) {
	for i := range a.clients {
		if revision, err = a.newest(ctx, i, api.QueryOptions{RequireConsistent: true}); err == nil {
			break
		}
	}
	return revision, err
}

// newest returns the highest index of three tables: keys, catalog nodes and health checks. It reads
// all three tables, because a response contains only the index of the table that was read. A server
// applies the entries of the log in order. So if a server has the newest write in any table, it has
// all earlier writes.
func (a *admin) newest(ctx context.Context, i int, how api.QueryOptions) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	c, opt := a.clients[i], how.WithContext(ctx)
	for _, ask := range []func() (*api.QueryMeta, error){
		// If the token has no rights to the key, this request returns an empty list instead of an
		// error.
		func() (*api.QueryMeta, error) { _, meta, err := c.KV().Keys(noKey, "", opt); return meta, err },
		func() (*api.QueryMeta, error) {
			_, meta, err := c.Catalog().NodeServiceList(noKey, opt)
			return meta, err
		},
		func() (*api.QueryMeta, error) { _, meta, err := c.Health().Node(noKey, opt); return meta, err },
	} {
		meta, err := ask()
		if err != nil {
			return 0, fmt.Errorf("%s did not respond like Consul: %s", a.endpoints[i], reason(ctx, err))
		}
		revision = max(revision, int64(meta.LastIndex))
	}
	return revision, nil
}

// memberID converts a node ID, which is a UUID, to a number: the first half of the UUID. It returns
// 0 if the ID is invalid.
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

// Members implements store.Admin. It sorts the members by name, because an agent lists them in
// random order. Members without a name keep their order. Servers do not know each other's HTTP
// ports. So for a member that is not among the endpoints, Members assumes the port of the first
// endpoint.
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
		return nil, fmt.Errorf("cannot read Consul's member list: %s", reason(ctx, err))
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
			if !taken[e] { // if e is another member's address, the port of this member is unknown
				server.Endpoint, taken[e] = e, true
			}
		}
		out = append(out, server)
	}
	if len(out) == 0 {
		if out, err = a.membersByAddress(&s, s.Members[asked].Peers); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b store.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// reason describes an error from the client in words that a user understands.
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

// UncheckedUserReason implements store.Admin. If ACLs are disabled, an agent refuses to describe
// the request's token. This refusal shows that the agent does not check tokens.
func (a *admin) UncheckedUserReason(ctx context.Context) (string, error) {
	c, err := a.firstClient(ctx)
	if err != nil {
		return "", err
	}
	var answer api.StatusError
	_, _, err = c.ACL().TokenReadSelf((&api.QueryOptions{}).WithContext(ctx))
	if errors.As(err, &answer) && answer.Code == http.StatusUnauthorized && strings.Contains(answer.Body, "ACL support disabled") {
		return "ACLs are disabled in this cluster", nil
	}
	return "", err
}
