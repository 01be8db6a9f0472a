package etcdv2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// admin implements store.Admin with net/http, because there is no longer a client library for
// the v2 API.
type admin struct {
	store.NoServices

	access  store.Access
	timeout time.Duration // limits the duration of one request to one endpoint
	client  *http.Client
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the etcd cluster was given")
	}
	return &admin{access: a, timeout: a.Timeout(), client: httpkv.Client(a)}, nil
}

// Close implements store.Admin.
func (a *admin) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// Status implements store.Admin. It queries all endpoints concurrently.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	return store.AskAll(len(a.access.Endpoints), func(i int) store.Member { return a.ask(ctx, a.access.Endpoints[i]) })
}

// ask queries the state of one member.
func (a *admin) ask(ctx context.Context, endpoint string) store.Member {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	m := store.Member{Endpoint: endpoint}
	fail := func(err error) store.Member {
		return unreachableMember(endpoint, err)
	}
	var version struct {
		Server string `json:"etcdserver"`
	}
	if _, err := a.call(ctx, http.MethodGet, endpoint, "/version", &version); err != nil {
		return fail(err)
	}
	var self struct {
		Name, ID, State string
		LeaderInfo      struct{ Leader string }
	}
	if _, err := a.call(ctx, http.MethodGet, endpoint, "/v2/stats/self", &self); err != nil {
		return fail(err)
	}
	// The member refuses a HEAD request for this path.
	if header, err := a.call(ctx, http.MethodGet, endpoint, "/v2/members", nil); err == nil {
		if id := header.Get("X-Etcd-Cluster-Id"); id != "" {
			m.Cluster = "cluster " + text.Line(id, text.MaxServerText)
		}
	}
	var err error
	if m.ID, err = strconv.ParseUint(self.ID, 16, 64); err != nil {
		return fail(fmt.Errorf("the member reports the invalid member ID %q", self.ID))
	}
	m.Name, m.Version = text.Line(self.Name, text.MaxServerText), version.Server
	m.Leader, _ = strconv.ParseUint(self.LeaderInfo.Leader, 16, 64)
	switch {
	case self.State == "StateLeader":
		m.Role = kv.Leader
	case self.State == "StateFollower" && self.LeaderInfo.Leader != "" && self.LeaderInfo.Leader != "0":
		m.Role = kv.Follower
	}
	a.addTerm(ctx, &m)
	return m
}

func unreachableMember(endpoint string, err error) store.Member {
	return store.Member{
		Endpoint: endpoint, ProcessEnded: store.IsConnectionRefused(err),
		Err: fmt.Errorf("%s did not respond like etcd's v2 API: %w", endpoint, err),
	}
}

// Role implements store.Admin. If the member has the JSON gateway, Role sends only one request.
// Otherwise it sends the same requests as Status.
func (a *admin) Role(ctx context.Context, i int) store.Member {
	endpoint := a.access.Endpoints[i]
	asked, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	status, err := a.gateway(asked, endpoint)
	var answered *httpError
	switch {
	case errors.As(err, &answered), err == nil && status.Header.MemberID == 0:
		return a.ask(ctx, endpoint)
	case err != nil:
		return unreachableMember(endpoint, err)
	}
	m := store.Member{Endpoint: endpoint, ID: status.Header.MemberID, Term: status.RaftTerm, Leader: status.Leader, DBSize: status.DBSize}
	switch status.Leader {
	case 0:
	case m.ID:
		m.Role = kv.Leader
	default:
		m.Role = status.follower()
	}
	return m
}

// gatewayStatus is a member's status as the JSON gateway to the v3 API reports it. etcd 3 has
// this gateway in addition to the v2 API.
type gatewayStatus struct {
	Header struct {
		MemberID uint64 `json:"member_id,string"`
	} `json:"header"`
	Leader   uint64 `json:"leader,string"`
	DBSize   int64  `json:"dbSize,string"`
	RaftTerm uint64 `json:"raftTerm,string"`
	Learner  bool   `json:"isLearner"`
}

// follower returns the role of a member that is not the leader.
func (s *gatewayStatus) follower() kv.Role {
	if s.Learner {
		return kv.NonVoter
	}
	return kv.Follower
}

func (a *admin) gateway(ctx context.Context, endpoint string) (s gatewayStatus, err error) {
	_, err = a.call(ctx, http.MethodPost, endpoint, "/v3/maintenance/status", &s)
	return s, err
}

// addTerm queries the gateway and sets the fields that the v2 API does not report. Older versions
// of etcd have no gateway, but the header of every response about a key contains the term.
func (a *admin) addTerm(ctx context.Context, m *store.Member) {
	if status, err := a.gateway(ctx, m.Endpoint); err == nil {
		m.Term, m.DBSize = status.RaftTerm, status.DBSize
		if m.Role == kv.Follower { // the v2 API reports a learner as a follower
			m.Role = status.follower()
		}
		return
	}
	if header, err := a.call(ctx, http.MethodHead, m.Endpoint, "/v2/keys/", nil); err == nil {
		m.Term, _ = strconv.ParseUint(header.Get("X-Raft-Term"), 10, 64)
	}
}

// Members implements store.Admin. It sorts the members by name.
func (a *admin) Members(ctx context.Context) ([]store.Member, error) {
	type listedMember struct {
		ID, Name   string
		ClientURLs []string
	}
	var list struct{ Members []listedMember }
	if err := a.tryEndpoints(ctx, http.MethodGet, "/v2/members", &list); err != nil {
		return nil, fmt.Errorf("cannot read etcd's member list: %w", err)
	}
	slices.SortFunc(list.Members, func(a, b listedMember) int { return strings.Compare(a.Name, b.Name) })
	var out []store.Member
	for _, m := range list.Members {
		name := text.Line(m.Name, text.MaxServerText)
		for _, u := range m.ClientURLs[:min(1, len(m.ClientURLs))] {
			parsed, err := url.Parse(u)
			if err != nil || parsed.Host == "" {
				return nil, fmt.Errorf("etcd member %s advertises %q, which is not a URL", name, u)
			}
			id, _ := strconv.ParseUint(m.ID, 16, 64)
			out = append(out, store.Member{ID: id, Name: name, Endpoint: parsed.Host})
		}
	}
	return out, nil
}
