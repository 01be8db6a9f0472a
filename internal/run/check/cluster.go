package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/follow"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Cluster is the running cluster that is checked.
type Cluster struct {
	Store  store.Store
	Access store.Access
	Target kv.Target
}

// worker generates load in this process, on this cluster.
func (c *Cluster) worker() load.Worker {
	return &load.Local{
		Stores: func(string) (store.Store, error) { return c.Store, nil },
		Access: func(*scenario.Attach) (store.Access, error) { return c.Access, nil },
	}
}

// askTimeout bounds asking a cluster how it is.
const askTimeout = 3 * time.Second

// reached is a cluster that answers.
type reached struct {
	Cluster
	admin  store.Admin
	status store.Status // as it was at the beginning
	// asked are the endpoints that are watched: all members where the cluster
	// tells them, else those given.
	asked   []string
	targets []string // where the load goes
	// unlisted is why the cluster's members are not known; nil: they are.
	unlisted error
}

// reach finds out who is there and whether they let us in, and where a target
// is.
func reach(ctx context.Context, c Cluster, l scenario.Load) (*reached, error) {
	if _, err := c.worker().Check(ctx, &load.Assignment{Load: l, Store: c.Store.Name(), Endpoints: c.Access.Endpoints}); err != nil {
		return nil, err
	}
	admin, err := c.Store.Admin(c.Access)
	if err != nil {
		return nil, err
	}
	r := &reached{Cluster: c, admin: admin, asked: c.Access.Endpoints}
	if err := r.meet(ctx); err != nil {
		_ = admin.Close() // nothing was asked of it
		return nil, err
	}
	return r, nil
}

func (r *reached) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	all, err := store.AskMembers(ctx, r.admin)
	r.unlisted = err
	if err == nil && len(all) > 0 && !sameSet(all, r.asked) {
		access := r.Access
		access.Endpoints = all
		admin, err := r.Store.Admin(access)
		if err != nil {
			return err
		}
		_ = r.admin.Close() // the new one asks more
		r.admin, r.asked = admin, all
	}
	if r.unlisted != nil && r.Target.Mode != kv.Any {
		return fmt.Errorf("target %v needs all members, and %s does not tell them: %w", r.Target, r.Store.Name(), r.unlisted)
	}
	if r.status, err = r.admin.Status(ctx); err != nil {
		return fmt.Errorf("%s does not tell its state: %w", r.Store.Name(), err)
	}
	r.targets, err = r.resolve(&r.status)
	return err
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// resolve is the endpoints that the target means now.
func (r *reached) resolve(s *store.Status) ([]string, error) {
	if r.Target.Mode == kv.Any {
		return r.Access.Endpoints, nil
	}
	v := follow.NewView(len(s.Members))
	now := time.Now()
	for i, m := range s.Members {
		v.Take(i, now, now, m)
	}
	return v.Endpoints(r.Target)
}

// plan puts the load and its target together.
func (r *reached) plan(l scenario.Load) *load.Assignment {
	numbers := map[string]uint64{}
	for i := range r.status.Members {
		numbers[r.status.Members[i].Endpoint] = r.status.Members[i].ID
	}
	return &load.Assignment{Load: l, Store: r.Store.Name(), Endpoints: r.targets, Members: numbers}
}

// name is what a member is called: its own name where it has one.
func (r *reached) name(endpoint string) string {
	for i := range r.status.Members {
		if m := &r.status.Members[i]; m.Endpoint == endpoint && m.Name != "" {
			return m.Name
		}
	}
	return endpoint
}

// NotEmptyError says that keys are there that a check would remove.
type NotEmptyError struct{ Prefix, Remove string }

// Error is the original's words, with the store's own command.
func (e *NotEmptyError) Error() string {
	if e.Remove == "" {
		return fmt.Sprintf("prefix %q has keys. Delete them first, or choose another prefix", e.Prefix)
	}
	return fmt.Sprintf("prefix %q has keys. Delete with '%s' first", e.Prefix, e.Remove)
}

// mustBeEmpty returns a NotEmptyError if there are keys with the prefix.
func (r *reached) mustBeEmpty(ctx context.Context, prefix string) error {
	n, err := r.count(ctx, prefix)
	if err != nil || n == 0 {
		return err
	}
	e := &NotEmptyError{Prefix: prefix}
	if command := r.Store.Capabilities().RemoveCommand; command != nil {
		e.Remove = command(prefix)
	}
	return e
}

// count asks how many keys begin with the prefix; what is above 0 is at least
// that.
func (r *reached) count(ctx context.Context, prefix string) (int64, error) {
	level := r.Store.Capabilities().Strongest()
	op := store.Op{Kind: kv.Range, Consistency: level, Key: []byte(prefix), Range: &store.RangeOp{End: after(prefix), Limit: 1}}
	dialer := engine.Dialer{Timeout: r.Access.Timeout(), TLS: r.Access.TLS}
	if dialer.TLS != nil {
		dialer.TLS = dialer.TLS.Clone()
		dialer.TLS.NextProtos = r.Store.Capabilities().ALPN
	}
	var failed error
	for _, endpoint := range r.Access.Endpoints {
		ev, err := dialer.Ask(ctx, endpoint, r.Store.Codecs(r.Access), &op)
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			failed = errors.Join(failed, err)
		case ev.Outcome == kv.Miss:
			return 0, nil
		case ev.Outcome.Failed():
			failed = errors.Join(failed, fmt.Errorf("%s does not list the keys with prefix %q: %s", endpoint, prefix, told(ev)))
		default:
			return ev.Count, nil
		}
	}
	return 0, failed
}

func told(ev store.Event) string {
	if len(ev.Text) > 0 {
		return string(ev.Text)
	}
	return ev.Outcome.String()
}

// after is the first key that is after all keys with the prefix; a zero byte
// where there is none, as etcd has it.
func after(prefix string) []byte {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return []byte{0}
}

// local reports whether an endpoint is on this machine.
func local(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
