package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// members is what is known of the cluster's members, and which role each had
// at which term.
type members struct {
	admin store.Admin
	given []string          // endpoints
	total int               // members of the cluster, where that is known to be more
	named map[string]string // by endpoint: the names that we gave

	mu    sync.Mutex
	last  store.Status
	known record.Roles
	gone  []string          // names of members that have not answered, in this trial
	names map[string]string // by endpoint
}

// ask asks every member for its state.
func (m *members) ask(ctx context.Context) error {
	status, err := m.admin.Status(ctx)
	if err != nil && len(status.Members) == 0 {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // who has not answered was not given the time
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	status.Term = max(status.Term, m.last.Term)
	if status.Version == "" {
		status.Version = m.last.Version
	}
	m.keepNames(status.Members)
	m.last = status
	for i := range status.Members {
		e := &status.Members[i]
		switch {
		case e.Err != nil && !slices.Contains(m.gone, e.Name):
			m.gone = append(m.gone, e.Name)
		case e.Err == nil && e.Role != kv.Unknown:
			m.add(e)
		}
	}
	return err
}

// close ends the connection for questions.
func (m *members) close() { _ = m.admin.Close() }

// keepNames gives a member the name that we gave it, and one that does not
// answer the name that it had before.
func (m *members) keepNames(all []store.Member) {
	if m.names == nil {
		m.names = map[string]string{}
	}
	for i := range all {
		e := &all[i]
		switch {
		case m.named[e.Endpoint] != "":
			e.Name = m.named[e.Endpoint]
		case e.Name != "":
			m.names[e.Endpoint] = e.Name
		case m.names[e.Endpoint] != "":
			e.Name = m.names[e.Endpoint]
		default:
			e.Name = e.Endpoint
		}
	}
}

func (m *members) add(e *store.Member) {
	role := record.RoleAt{Member: record.ID(e.ID), Name: e.Name, Term: e.Term, Role: e.Role.String()}
	if !slices.Contains(m.known, role) {
		m.known = append(m.known, role)
	}
}

func (m *members) status() store.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// numbers is every member's number by its endpoint.
func (m *members) numbers() map[string]uint64 {
	out := map[string]uint64{}
	status := m.status()
	for i := range status.Members {
		out[status.Members[i].Endpoint] = status.Members[i].ID
	}
	return out
}

// roles is who led and who followed at each term seen.
func (m *members) roles() record.Roles {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.known)
}

// lost names the members that did not answer at some time in the trial, also
// those that came back.
func (m *members) lost() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.gone)
}

// targets is the endpoints that a target means now.
func (m *members) targets(t kv.Target) ([]string, error) {
	if t.Mode == kv.Any {
		return m.given, nil
	}
	status := m.status()
	leader := status.Leader()
	var out []string
	for i := range status.Members {
		e := &status.Members[i]
		leads := leader != nil && e.ID == leader.ID
		switch t.Mode {
		case kv.LeaderOnly:
			if leads {
				out = append(out, e.Endpoint)
			}
		case kv.Followers:
			if !leads && leader != nil {
				out = append(out, e.Endpoint)
			}
		case kv.One:
			if i == t.Member-1 {
				out = append(out, e.Endpoint)
			}
		default:
			out = append(out, e.Endpoint)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	switch t.Mode {
	case kv.LeaderOnly:
		return nil, fmt.Errorf("target leader: none of the %d members leads", len(status.Members))
	case kv.Followers:
		return nil, fmt.Errorf("target followers: the cluster has no follower that answers")
	case kv.One:
		return nil, fmt.Errorf("target %v: the cluster has %d members", t, len(status.Members))
	}
	return nil, fmt.Errorf("target %v: the cluster tells no member", t)
}
