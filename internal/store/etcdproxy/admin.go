package etcdproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Probe checks that the proxy at an endpoint serves requests. If `ready` is set, the proxy has
// responded before, so a cheap request is sufficient.
type Probe func(ctx context.Context, a store.Access, endpoint string, ready bool) error

// Admin implements store.Admin for proxies. It queries the proxies and the etcd members behind
// them.
type Admin struct {
	name    string
	access  store.Access
	timeout time.Duration
	probe   Probe
	etcd    store.Admin // for the etcd members that the proxies use; nil if none of them is known
	servers []string    // endpoints of these etcd members

	mu    sync.Mutex
	ready map[string]bool // the proxies that have responded before
}

// errNoProcess means that no process listens at the proxy's endpoint.
var errNoProcess = errors.New("no process listens at this address")

// NewAdmin returns an Admin for the proxies of the named store. It returns an error if the
// Access requires TLS or authentication, because the proxies support neither.
func NewAdmin(name string, a store.Access, probe Probe) (*Admin, error) {
	switch {
	case a.TLS != nil:
		return nil, errors.New(noTLS(name))
	case a.User != "" || a.Password != "":
		return nil, errors.New(noUsers(name))
	case len(a.Endpoints) == 0:
		return nil, fmt.Errorf("no %s endpoint was given", name)
	}
	out := &Admin{name: name, access: a, timeout: a.Timeout(), probe: probe, ready: map[string]bool{}}
	for _, endpoint := range a.Endpoints {
		if server := a.Backends[endpoint]; server != "" {
			out.servers = append(out.servers, server)
		}
	}
	if len(out.servers) == 0 {
		return out, nil
	}
	var err error
	out.etcd, err = etcd.New().Admin(store.Access{Endpoints: out.servers, DialTimeout: a.DialTimeout, Dial: a.Dial})
	return out, err
}

// Close implements store.Admin.
func (a *Admin) Close() error {
	if a.etcd == nil {
		return nil
	}
	return a.etcd.Close()
}

// Members implements store.Admin. It returns the given endpoints, because a proxy does not know
// the other proxies.
func (a *Admin) Members(context.Context) (out []store.Member, err error) {
	for _, e := range a.access.Endpoints {
		out = append(out, store.Member{Endpoint: e})
	}
	return out, nil
}

// Status implements store.Admin. A member has the state of the etcd member that its proxy uses.
// If the address of this etcd member is not known, the member's role is unknown.
func (a *Admin) Status(ctx context.Context) (store.Status, error) {
	var backends store.Status
	proxies := make([]error, len(a.access.Endpoints))
	// Query all proxies and etcd members concurrently. Otherwise one paused member could use up
	// the time limit, and Status would report the other members as failed.
	var asked sync.WaitGroup
	if a.etcd != nil {
		asked.Go(func() { backends, _ = a.etcd.Status(ctx) }) // each member's error is in its status
	}
	for i, endpoint := range a.access.Endpoints {
		asked.Go(func() { proxies[i] = a.ask(ctx, endpoint) })
	}
	asked.Wait()
	status := store.Status{Term: backends.Term}
	if backends.Version != "" {
		status.Version = "on etcd " + backends.Version
	}
	var errs []error
	for i, endpoint := range a.access.Endpoints {
		m := memberWithError(a.findMember(endpoint, backends.Members), proxies[i])
		status.Members = append(status.Members, m)
		if m.Err != nil {
			errs = append(errs, m.Err)
		}
	}
	if len(errs) < len(status.Members) {
		return status, nil
	}
	return status, errors.Join(errs...)
}

// memberWithError returns m unchanged if err is nil. Otherwise err is the reason why the query of
// m's proxy failed, and the returned member contains this error but no state.
func memberWithError(m store.Member, err error) store.Member {
	switch {
	case err == nil:
		return m
	case m.Err != nil:
		return store.Member{Endpoint: m.Endpoint, Name: m.Name, Err: fmt.Errorf("%w; %w", err, m.Err), ProcessEnded: m.ProcessEnded || isNoProcess(err)}
	}
	return store.Member{Endpoint: m.Endpoint, Name: m.Name, Err: err, ProcessEnded: isNoProcess(err)}
}

func isNoProcess(err error) bool { return errors.Is(err, errNoProcess) }

// Role implements store.Admin. It queries the proxy and the proxy's etcd member concurrently.
func (a *Admin) Role(ctx context.Context, i int) store.Member {
	endpoint := a.access.Endpoints[i]
	var proxy error
	var asked sync.WaitGroup
	asked.Go(func() { proxy = a.ask(ctx, endpoint) })
	var behind []store.Member
	if n := slices.Index(a.servers, a.access.Backends[endpoint]); n >= 0 {
		behind = append(behind, a.etcd.Role(ctx, n))
	}
	asked.Wait()
	return memberWithError(a.findMember(endpoint, behind), proxy)
}

// UncheckedUserReason implements store.Admin. Proxies have no users.
func (*Admin) UncheckedUserReason(context.Context) (string, error) { return "", nil }

// findMember returns the member whose proxy is at an endpoint, with the state of the proxy's etcd
// member.
func (a *Admin) findMember(endpoint string, servers []store.Member) store.Member {
	m := store.Member{Endpoint: endpoint, Role: kv.UnknownRole}
	server := a.access.Backends[endpoint]
	for _, s := range servers {
		if s.Endpoint != server || server == "" {
			continue
		}
		m = s
		m.Endpoint = endpoint
		if m.Version != "" {
			m.Version = "on etcd " + m.Version
		}
		if s.Err != nil {
			m.Err = fmt.Errorf("the etcd member behind %s at %s: %w", a.name, endpoint, s.Err)
		}
	}
	return m
}

// ask checks that a proxy serves requests.
func (a *Admin) ask(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	a.mu.Lock()
	ready := a.ready[endpoint]
	a.mu.Unlock()
	if err := a.probe(ctx, a.access, endpoint, ready); err != nil {
		return fmt.Errorf("%s at %s did not respond: %w", a.name, endpoint, reason(ctx, err))
	}
	a.mu.Lock()
	a.ready[endpoint] = true
	a.mu.Unlock()
	return nil
}

// reason converts an error into an error whose text users understand.
func reason(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return errors.New("the query was cancelled")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("no response within the time limit")
	case store.IsConnectionRefused(err):
		return errNoProcess
	case errors.As(err, &op):
		return op.Err // omit the name of the system call
	}
	return err
}
