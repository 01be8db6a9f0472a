package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/store"
)

// members holds the known state of the cluster's members, and the role of each in each
// term.
type members struct {
	admin store.Admin
	given []string          // endpoints
	total int               // number of the cluster's members, if more are known
	named map[string]string // by endpoint: the names that quorumbench gave
	// others holds all members of the cluster if they differ from the given ones.
	others []store.Member
	// absent holds the endpoints of members that did not respond before the load, with the
	// reason. The load runs without them.
	absent map[string]error
	mute   map[string]bool // the absent members that did not report their state; they may come back
	// twice holds notes about members that were given by two endpoints.
	twice []string

	mu      sync.Mutex
	view    *cluster.View // nil: no member was asked yet
	version string
	known   record.Roles
	gone    []loss            // lost members of this trial
	silent  bool              // a member did not respond to the last request, and its port may be open
	names   map[string]string // by endpoint
}

// ask asks every member for its state and returns the changes.
func (m *members) ask(ctx context.Context) ([]cluster.Change, error) {
	asked := measure.Now()
	status, err := m.admin.Status(ctx)
	ended := measure.Now()
	if err != nil && len(status.Members) == 0 {
		return nil, err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the members were not given the full time
	}
	m.mu.Lock()
	m.version = cmp.Or(status.Version, m.version)
	m.silent = slices.ContainsFunc(status.Members, func(e store.Member) bool { return e.Err != nil && !e.Gone })
	m.mu.Unlock()
	var changes []cluster.Change
	for i := range status.Members {
		changes = append(changes, m.take(i, len(status.Members), asked, ended, status.Members[i])...)
	}
	return changes, err
}

// meet asks every member for its state, and waits at most within. If a member does not
// respond, and may only be slow, it asks once more: without the member's ID its operations
// would have no role.
func meet(ctx context.Context, admin store.Admin, given []string, named map[string]string, within time.Duration) (m *members, err error) {
	for range 2 {
		m = &members{admin: admin, given: given, named: named}
		asked, cancel := context.WithTimeout(ctx, within)
		_, err = m.ask(asked)
		cancel()
		if err != nil || !m.silent {
			break
		}
	}
	return m, err
}

// take records the i-th of n members' response to a request that was sent and answered at
// the given times, and returns what it changes.
func (m *members) take(i, n int, asked, ended time.Time, e store.Member) []cluster.Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		m.view = cluster.NewView(n)
	}
	if e.Err == nil && m.mute[e.Endpoint] {
		delete(m.absent, e.Endpoint)
		delete(m.mute, e.Endpoint)
	}
	e.Name = m.nameOf(&e)
	changes := m.view.Take(i, asked, ended, e)
	all := m.view.Members()
	for _, c := range changes {
		name := all[c.Member].Name
		switch c.What {
		case cluster.Led:
			m.add(&all[c.Member], c.Term, kv.Leader, c.At)
		case cluster.Lost:
			m.gone = append(m.gone, loss{name, c.At})
		}
	}
	if e.Err == nil && e.Role != kv.Unknown {
		_, number := m.view.Leader()
		m.add(&all[i], cmp.Or(e.Term, number), e.Role, ended)
	}
	return changes
}

// close closes the administration connections.
func (m *members) close() { _ = m.admin.Close() }

// nameOf returns the name that quorumbench gave to a member, or its own name, or, if it
// does not report one, its earlier name.
func (m *members) nameOf(e *store.Member) string {
	if m.names == nil {
		m.names = map[string]string{}
	}
	if e.Name != "" {
		m.names[e.Endpoint] = e.Name
	}
	return cmp.Or(m.named[e.Endpoint], m.names[e.Endpoint], e.Endpoint)
}

// add records the role of a member in a term, and when that was first seen.
func (m *members) add(e *store.Member, term uint64, role kv.Role, at time.Time) {
	r := record.RoleAt{Member: record.ID(e.ID), Name: e.Name, Term: term, Role: role.String(), Since: at.UTC()}
	same := func(k record.RoleAt) bool { return k.Member == r.Member && k.Term == r.Term && k.Role == r.Role }
	if e.ID != 0 && !slices.ContainsFunc(m.known, same) {
		m.known = append(m.known, r)
	}
}

// status returns the cluster's state as its members last reported it.
func (m *members) status() store.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := store.Status{Version: m.version}
	if m.view != nil {
		_, s.Term = m.view.Leader()
		s.Members = m.view.Members()
	}
	return s
}

// leaderTerm returns the latest term in which a leader is known, or 0.
func (m *members) leaderTerm() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		return 0
	}
	_, term := m.view.Leader()
	return term
}

// numbers returns every member's ID by endpoint.
func (m *members) numbers() map[string]uint64 {
	out := map[string]uint64{}
	status := m.status()
	for i := range status.Members {
		out[status.Members[i].Endpoint] = status.Members[i].ID
	}
	return out
}

// roles returns the roles of the members in each term seen.
func (m *members) roles() record.Roles {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.known)
}

// loss records that a member was lost.
type loss struct {
	member string
	at     time.Time
}

// lost names the members that were lost during the trial, even if they came back, except at
// times for which excused returns true; nil for none.
func (m *members) lost(excused func(at time.Time) bool) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.gone {
		if !slices.Contains(names, l.member) && (excused == nil || !excused(l.at)) {
			names = append(names, l.member)
		}
	}
	return names
}

// targets returns the present endpoints of a target. If the target has several, voting
// leaves out members without a vote, unless no member has one.
func (m *members) targets(t kv.Target, voting bool) ([]string, error) {
	if t.Mode == kv.Any {
		mute := m.withoutVote()
		some := slices.DeleteFunc(slices.Clone(m.given), func(e string) bool { return voting && memberAt(mute, e) != nil })
		if len(some) == 0 {
			return m.given, nil
		}
		return some, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := m.view.Endpoints(t, voting)
	answering := slices.DeleteFunc(slices.Clone(all), func(e string) bool { return m.absent[e] != nil })
	switch {
	case err != nil || len(answering) == len(all):
		return all, err
	case len(answering) == 0:
		return nil, fmt.Errorf("target %v: none of its members answers: %w", t, m.absent[all[0]])
	}
	return answering, nil
}

// sizes returns the known sizes of the members' databases by endpoint.
func (m *members) sizes() map[string]*int64 {
	out := map[string]*int64{}
	status := m.status()
	for i := range status.Members {
		if e := &status.Members[i]; e.Err == nil && e.DBSize > 0 {
			out[e.Endpoint] = &e.DBSize
		}
	}
	return out
}

// scraped returns the members that are asked for their metrics.
func (m *members) scraped() []store.Member {
	if len(m.others) > 0 {
		return m.others
	}
	return m.status().Members
}

// size returns the size of a member's database, or 0 if it is unknown.
func (m *members) size(endpoint string) int64 {
	if size := m.sizes()[endpoint]; size != nil {
		return *size
	}
	return 0
}

// withoutVote lists the known members of the cluster that have no vote.
func (m *members) withoutVote() []store.Member {
	return slices.DeleteFunc(m.allMembers(), func(e store.Member) bool { return e.Role != kv.NonVoter })
}

// allMembers lists the members that are asked for their state, and those whose endpoints
// were not given.
func (m *members) allMembers() []store.Member {
	all := m.status().Members
	for i := range m.others {
		if memberAt(all, m.others[i].Endpoint) == nil {
			all = append(all, m.others[i])
		}
	}
	return all
}

// memberAt returns the member at an endpoint, or nil.
func memberAt(all []store.Member, endpoint string) *store.Member {
	i := slices.IndexFunc(all, func(e store.Member) bool { return e.Endpoint == endpoint })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// describe returns a member's name and endpoint.
func describe(e *store.Member) string {
	if cmp.Or(e.Name, e.Endpoint) == e.Endpoint {
		return e.Endpoint
	}
	return fmt.Sprintf("%s (%s)", e.Name, e.Endpoint)
}
