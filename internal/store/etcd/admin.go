package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The time that gRPC waits between two attempts to connect to an endpoint starts at
// firstReconnectDelay and grows to maxReconnectDelay. Both times are short, so that Status soon
// notices that a member is running again.
const (
	firstReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay   = time.Second
)

// maxResponse limits the size of a response message, and maxHeader limits the size of its headers,
// both in bytes. The largest responses are member lists.
const (
	maxResponse = 4 << 20
	maxHeader   = 64 << 10
)

var errClosed = errors.New("this connection to the etcd cluster was closed")

// admin implements store.Admin with etcd's official client. It creates the client on first use,
// because creating a client with a user name sends a request for a token.
type admin struct {
	store.NoServices

	access  store.Access
	timeout time.Duration // limits the duration of one request to one endpoint
	pace    *readPace     // limits the total read rate of all connections

	mu     sync.Mutex
	client *clientv3.Client
	cancel context.CancelFunc // cancels the client's own context
	conns  []*grpc.ClientConn // by endpoint index; an element is nil until its connection is first used
	names  map[uint64]string  // by member ID
	closed bool

	// balanced is the client's connection to all endpoints; nil until the login has succeeded.
	balanced atomic.Pointer[grpc.ClientConn]
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the etcd cluster was given")
	}
	return &admin{access: a, timeout: a.Timeout(), pace: newReadPace(a.Connect), names: map[uint64]string{}, conns: make([]*grpc.ClientConn, len(a.Endpoints))}, nil
}

// Close implements store.Admin.
func (a *admin) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.client == nil {
		return nil
	}
	a.cancel()
	for i, conn := range a.conns {
		if conn != nil {
			_ = conn.Close() // no request is in flight any more
			a.conns[i] = nil
		}
	}
	_ = a.client.Close() // the error only reports that the client's context was canceled
	a.client = nil
	return nil
}

// ensureClient returns the client. The first call creates the client.
func (a *admin) ensureClient(ctx context.Context) (*clientv3.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, errClosed
	case a.client != nil:
		return a.client, nil
	}
	clientCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel) // cancels clientv3.New, which has no context parameter
	c, err := a.login(clientCtx)
	if !stop() && err == nil {
		_ = c.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("cannot log in to the etcd cluster at %s: %s", strings.Join(a.access.Endpoints, ", "), reason(ctx, err))
	}
	a.client, a.cancel = c, cancel
	a.balanced.Store(c.ActiveConnection())
	return c, nil
}

// login creates a client. If a user name is set, creating the client sends a request for a token.
// If a learner receives and refuses this request, login tries to create a client for each endpoint
// in turn until one attempt succeeds.
func (a *admin) login(ctx context.Context) (c *clientv3.Client, err error) {
	all := make([]string, len(a.access.Endpoints))
	for i, e := range a.access.Endpoints {
		all[i] = a.access.URL(e)
	}
	if c, err = clientv3.New(a.config(ctx, all)); !refusedByLearner(err) {
		return c, err
	}
	for i := range all {
		if c, err = clientv3.New(a.config(ctx, all[i:i+1])); err == nil {
			c.SetEndpoints(all...) // only the login needed this endpoint
			break
		}
	}
	return c, err
}

func (a *admin) config(ctx context.Context, endpoints []string) clientv3.Config {
	return clientv3.Config{
		Context:     ctx,
		Endpoints:   endpoints,
		DialTimeout: a.timeout,
		TLS:         a.access.TLS,
		Username:    a.access.User,
		Password:    a.access.Password,
		Logger:      zap.NewNop(),
		// By default the client waits and retries when an endpoint does not respond. Here the
		// request must fail at once.
		MaxUnaryRetries:    1,
		MaxCallRecvMsgSize: maxResponse,
		DialOptions: []grpc.DialOption{
			grpc.WithNoProxy(), // the load does not use a proxy either
			grpc.WithChainUnaryInterceptor(a.failFast),
			grpc.WithMaxHeaderListSize(maxHeader),
			grpc.WithContextDialer(a.pace.dial),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: firstReconnectDelay, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxReconnectDelay}, MinConnectTimeout: a.timeout,
			}),
		},
	}
}

// failFast makes a call fail at once if its connection is down. If etcd refuses a call because
// of too many requests, failFast sends the call again after a pause. If a learner refuses a
// call, failFast makes the client use voting members only, and sends the call again.
func (a *admin) failFast(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	opts = append(opts, grpc.WaitForReady(false))
	err := invoke(ctx, method, req, reply, cc, opts...)
	for tries := 0; err != nil && strings.Contains(err.Error(), "etcdserver: too many requests") && store.WaitAfterRefusal(ctx, tries); tries++ {
		err = invoke(ctx, method, req, reply, cc, opts...)
	}
	if refusedByLearner(err) && cc == a.balanced.Load() && a.avoidLearners(ctx) {
		err = invoke(ctx, method, req, reply, cc, opts...)
	}
	return err
}

// avoidLearners restricts the client's requests to voting members. If all members can vote, or none
// can, it changes nothing and returns false.
func (a *admin) avoidLearners(ctx context.Context) bool {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return false
	}
	s, _ := store.AskAll(len(a.access.Endpoints), func(i int) store.Member { return a.queryMember(ctx, c, i) }) // a member that does not respond may be a voting member, so it is kept
	var voting []string
	for i := range s.Members {
		if s.Members[i].Role != kv.NonVoter {
			voting = append(voting, a.access.URL(s.Members[i].Endpoint))
		}
	}
	if len(voting) == 0 || len(voting) == len(s.Members) {
		return false
	}
	c.SetEndpoints(voting...)
	return true
}

// refusedByLearner reports whether a member refused a request because it is a learner.
func refusedByLearner(err error) bool {
	return err != nil && strings.Contains(err.Error(), "rpc not supported for learner") // the gRPC code differs between versions
}

// Status implements store.Admin. It sends a request to all endpoints concurrently, with one
// connection per endpoint. Each endpoint must respond within the dial timeout.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return store.Status{}, err
	}
	s, err := store.AskAll(len(a.access.Endpoints), func(i int) store.Member { return a.queryMember(ctx, c, i) })
	a.addNames(ctx, s.Members)
	return s, err
}

// Role implements store.Admin with a status request, which is cheap.
func (a *admin) Role(ctx context.Context, i int) store.Member {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return store.Member{Endpoint: a.access.Endpoints[i], Err: err}
	}
	return a.queryMember(ctx, c, i)
}

func (a *admin) queryMember(ctx context.Context, c *clientv3.Client, i int) store.Member {
	m := store.Member{Endpoint: a.access.Endpoints[i]}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	conn, err := a.connection(c, i)
	if err != nil {
		m.Err = fmt.Errorf("cannot connect to %s: %w", m.Endpoint, err)
		return m
	}
	r, err := etcdserverpb.NewMaintenanceClient(conn).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		text := reason(ctx, err)
		m.Err = fmt.Errorf("%s did not respond like etcd: %s", m.Endpoint, text)
		m.ProcessEnded = strings.HasSuffix(text, "connection refused")
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			// The next request must open a new connection. If the member was replaced, the old TCP
			// connection would keep trying to reach the previous member.
			a.drop(i)
		}
		return m
	}
	m.ID = r.Header.GetMemberId()
	m.Cluster = fmt.Sprintf("cluster %x", r.Header.GetClusterId())
	m.Version = r.Version
	m.Term, m.Leader = r.RaftTerm, r.Leader
	m.DBSize = r.DbSize
	m.QuotaRemaining = quotaRemaining(r)
	m.Alarms = alarms(r.Errors)
	switch {
	case r.Leader == 0: // the member does not know a leader, so its role stays unknown
	case r.IsLearner:
		m.Role = kv.NonVoter
	case r.Leader == m.ID:
		m.Role = kv.Leader
	default:
		m.Role = kv.Follower
	}
	return m
}

// quotaRemaining returns the value of store.Member.QuotaRemaining for a status response. New data
// first fills the free pages of the database file. But etcd compares the file's size with the
// quota, so it refuses every write as soon as the file has nearly reached the quota, even if the
// file contains free pages. Only etcd 3.6 and later report the quota.
func quotaRemaining(r *etcdserverpb.StatusResponse) int64 {
	switch {
	case r.DbSizeQuota <= 0:
		return 0
	case r.DbSize+maxRequest >= r.DbSizeQuota:
		return max(r.DbSizeQuota-r.DbSize, 1)
	}
	return max(r.DbSizeQuota-r.DbSizeInUse, 1)
}

// alarms returns the names of the alarms that the errors in a status response report. etcd formats
// an alarm as protobuf text, such as `memberID:1 alarm:NOSPACE`.
func alarms(errs []string) []string {
	var out []string
	for _, e := range errs {
		for _, field := range strings.Fields(e) {
			if name, ok := strings.CutPrefix(field, "alarm:"); ok {
				out = append(out, name)
			}
		}
	}
	return out
}

// connection returns the connection to the i-th endpoint. The first call for an endpoint opens
// the connection.
func (a *admin) connection(c *clientv3.Client, i int) (*grpc.ClientConn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errClosed
	}
	if a.conns[i] == nil {
		conn, err := c.Dial(a.access.URL(a.access.Endpoints[i]))
		if err != nil {
			return nil, err
		}
		a.conns[i] = conn
	}
	return a.conns[i], nil
}

// drop closes the connection to the i-th endpoint, so that the next request opens a new one.
func (a *admin) drop(i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[i] != nil {
		_ = a.conns[i].Close() // an error does not matter: the endpoint did not respond
		a.conns[i] = nil
	}
}

// addNames sets the members' names, which status responses do not contain. If a name is missing,
// addNames requests the member list from a member that has just responded to a status request. That
// member responds from its own copy of the list, so the request succeeds even if the cluster has no
// quorum.
func (a *admin) addNames(ctx context.Context, members []store.Member) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var answers *grpc.ClientConn
	for i := range members {
		m := &members[i]
		m.Name = a.names[m.ID]
		if m.Err == nil && m.Name == "" && (answers == nil || m.Role != kv.NonVoter) { // prefers a voting member, because a learner refuses the request
			answers = a.conns[i]
		}
	}
	if answers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	list, err := etcdserverpb.NewClusterClient(answers).MemberList(ctx, &etcdserverpb.MemberListRequest{})
	if err != nil || len(list.Members) > kv.MaxMembers {
		return // a status without names is still useful
	}
	clear(a.names) // keeps the map small even if every list contains different members
	for _, m := range list.Members {
		a.names[m.ID] = text.Line(m.Name, text.MaxServerText)
	}
	for i := range members {
		members[i].Name = a.names[members[i].ID]
	}
}

// Members implements store.Admin. It sorts the members by name; etcd sorts them by member ID.
func (a *admin) Members(ctx context.Context) ([]store.Member, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	list, err := c.MemberList(ctx, clientv3.WithSerializable())
	if err != nil {
		return nil, fmt.Errorf("cannot read etcd's member list: %s", reason(ctx, err))
	}
	slices.SortFunc(list.Members, func(a, b *etcdserverpb.Member) int { return strings.Compare(a.Name, b.Name) })
	var out []store.Member
	for _, m := range list.Members {
		name := text.Line(m.Name, text.MaxServerText)
		for _, u := range m.ClientURLs[:min(1, len(m.ClientURLs))] {
			parsed, err := url.Parse(u)
			if err != nil || parsed.Host == "" {
				return nil, fmt.Errorf("etcd member %s advertises %q, which is not a URL", name, u)
			}
			out = append(out, store.Member{ID: m.ID, Name: name, Endpoint: parsed.Host})
		}
	}
	return out, nil
}

// runConcurrently calls the function `do` n times, with i = 0 to n-1. At most maxConcurrent calls
// are concurrent. It returns the first error. After an error it starts no further calls and waits
// until the running calls have returned.
func runConcurrently(ctx context.Context, n, maxConcurrent int, do func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var once sync.Once
	var first error
	var wg sync.WaitGroup
	for range min(n, maxConcurrent) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					once.Do(func() { first = err })
					failed.Store(true)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

// maxReason limits the length in bytes of an error text from a server.
const maxReason = 1000

// reason converts an error from the client to a text for users. The text contains the innermost
// cause without gRPC's prefixes, or states that the request was cancelled or timed out.
func reason(ctx context.Context, err error) string {
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "no response within the time limit"
	}
	text := err.Error()
	if strings.Contains(text, "server preface") && strings.Contains(text, "use of closed network connection") {
		return "no response within the time limit" // gRPC gave up connecting just before the time limit of ctx
	}
	if i := strings.LastIndex(text, `desc = `); i >= 0 {
		text = strings.Trim(text[i+len(`desc = `):], `"`)
	}
	text = strings.TrimPrefix(text, "transport: ")
	text = strings.TrimPrefix(text, "Error while dialing: ")
	text = strings.TrimPrefix(text, "etcdserver: ")
	return text[:min(len(text), maxReason)] // a server can send a text of any length
}
