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

// members contains the cluster's members, as far as they are known, and their roles in each term.
type members struct {
	admin          store.Admin
	givenEndpoints []string          // endpoints that the user gave
	total          int               // number of the cluster's members; used only if it is greater than the number of members that are asked for their status
	givenNames     map[string]string // names that quorumbench gave to the members, by endpoint
	// others contains all members of the cluster. It is empty if these are exactly the members at
	// the given endpoints.
	others []store.Member
	// absent contains the errors of members that did not respond before the load, by endpoint. The
	// load runs without these members.
	absent          map[string]error
	reportsNoStatus map[string]bool // by endpoint: whether an absent member did not report its status; such a member may come back
	// duplicateNotes contains notes about members that were given with two endpoints.
	duplicateNotes []string

	mu                   sync.Mutex
	view                 *cluster.View // nil if no member has been asked yet
	version              string
	termRoles            record.RoleHistory
	losses               []loss            // members lost during this trial
	hasUnansweredRequest bool              // set if a member did not respond to the last request although its port may be open
	names                map[string]string // names that the members report, by endpoint
}

// queryStatus asks all members for their status and returns the changes.
func (m *members) queryStatus(ctx context.Context) ([]cluster.Change, error) {
	asked := measure.Now()
	status, err := m.admin.Status(ctx)
	ended := measure.Now()
	if err != nil && len(status.Members) == 0 {
		return nil, err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the members did not have enough time to respond
	}
	m.mu.Lock()
	m.version = cmp.Or(status.Version, m.version)
	m.hasUnansweredRequest = slices.ContainsFunc(status.Members, func(e store.Member) bool { return e.Err != nil && !e.ProcessEnded })
	m.mu.Unlock()
	var changes []cluster.Change
	for i := range status.Members {
		changes = append(changes, m.update(i, len(status.Members), asked, ended, status.Members[i])...)
	}
	return changes, err
}

// connectMembers asks all members for their status. It waits no longer than the time `within`. If a
// member that may only be slow does not respond, connectMembers asks all members once more. Without
// the member's ID, the role of the member that executed an operation would be unknown.
func connectMembers(ctx context.Context, admin store.Admin, given []string, named map[string]string, within time.Duration) (m *members, err error) {
	for range 2 {
		m = &members{admin: admin, givenEndpoints: given, givenNames: named}
		asked, cancel := context.WithTimeout(ctx, within)
		_, err = m.queryStatus(asked)
		cancel()
		if err != nil || !m.hasUnansweredRequest {
			break
		}
	}
	return m, err
}

// update records the response of the member with index i, out of n members, and returns the
// resulting changes. asked is the time at which the request was sent, and ended is the time at
// which it was answered.
func (m *members) update(i, n int, asked, ended time.Time, e store.Member) []cluster.Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		m.view = cluster.NewView(n)
	}
	if e.Err == nil && m.reportsNoStatus[e.Endpoint] {
		delete(m.absent, e.Endpoint)
		delete(m.reportsNoStatus, e.Endpoint)
	}
	e.Name = m.nameOf(&e)
	changes := m.view.Update(i, asked, ended, e)
	all := m.view.Members()
	for _, c := range changes {
		name := all[c.Member].Name
		switch c.Kind {
		case cluster.LeaderElected:
			m.addRole(&all[c.Member], c.Term, kv.Leader, c.At)
		case cluster.MemberLost:
			m.losses = append(m.losses, loss{name, c.At})
		}
	}
	if e.Err == nil && e.Role != kv.UnknownRole {
		_, latest := m.view.Leader()
		m.addRole(&all[i], cmp.Or(e.Term, latest), e.Role, ended)
	}
	return changes
}

// close closes the administration connections.
func (m *members) close() { _ = m.admin.Close() }

// nameOf returns the name that quorumbench gave to a member. If quorumbench gave it no name, nameOf
// returns the name that the member reports or has reported before. If neither exists, it returns
// the endpoint.
func (m *members) nameOf(e *store.Member) string {
	if m.names == nil {
		m.names = map[string]string{}
	}
	if e.Name != "" {
		m.names[e.Endpoint] = e.Name
	}
	return cmp.Or(m.givenNames[e.Endpoint], m.names[e.Endpoint], e.Endpoint)
}

// addRole records a member's role in a term. The parameter `at` is the time at which the member was
// first seen in this role.
func (m *members) addRole(e *store.Member, term uint64, role kv.Role, at time.Time) {
	r := record.RoleAt{Member: record.ID(e.ID), Name: e.Name, Term: term, Role: role.String(), Since: at.UTC()}
	same := func(k record.RoleAt) bool { return k.Member == r.Member && k.Term == r.Term && k.Role == r.Role }
	if e.ID != 0 && !slices.ContainsFunc(m.termRoles, same) {
		m.termRoles = append(m.termRoles, r)
	}
}

// status returns the cluster's status, as its members last reported it.
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

// states returns the current state of each member for the observer of the record.
func (m *members) states() []record.MemberState {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		return nil
	}
	leader, _ := m.view.Leader()
	var all []record.MemberState
	for i, e := range m.view.Members() {
		s := record.MemberState{Name: e.Name, ID: e.ID, Role: e.Role, Lost: e.Err != nil}
		switch {
		case i == leader:
			s.Role = kv.Leader
		case s.Role == kv.Leader: // another member has become leader since this member's last response
			s.Role = kv.UnknownRole
		}
		all = append(all, s)
	}
	return all
}

// leaderTerm returns the latest term whose leader is known, or 0.
func (m *members) leaderTerm() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		return 0
	}
	_, term := m.view.Leader()
	return term
}

// ids returns the members' IDs by endpoint.
func (m *members) ids() map[string]uint64 {
	out := map[string]uint64{}
	status := m.status()
	for i := range status.Members {
		out[status.Members[i].Endpoint] = status.Members[i].ID
	}
	return out
}

// roles returns the members' roles in each term.
func (m *members) roles() record.RoleHistory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.termRoles)
}

// loss describes the loss of a member.
type loss struct {
	member string
	at     time.Time
}

// lost returns the names of the members that were lost during the trial, including those that came
// back. It ignores losses at times for which the function excused returns true. This function may
// be nil.
func (m *members) lost(excused func(at time.Time) bool) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.losses {
		if !slices.Contains(names, l.member) && (excused == nil || !excused(l.at)) {
			names = append(names, l.member)
		}
	}
	return names
}

// targets returns the current endpoints of a target. If voting is set and the target has several
// endpoints, targets omits the members without a vote. It does not omit them if no member has a
// vote.
func (m *members) targets(t kv.Target, voting bool) ([]string, error) {
	if t.Mode == kv.AnyEndpoint {
		nonVoters := m.withoutVote()
		some := slices.DeleteFunc(slices.Clone(m.givenEndpoints), func(e string) bool { return voting && memberAt(nonVoters, e) != nil })
		if len(some) == 0 {
			return m.givenEndpoints, nil
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
		return nil, fmt.Errorf("target %v: no member of the target responds: %w", t, m.absent[all[0]])
	}
	return answering, nil
}

// sizes returns the known database sizes, by endpoint, in bytes.
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

// scrapedMembers returns the members that are asked for their metrics.
func (m *members) scrapedMembers() []store.Member {
	if len(m.others) > 0 {
		return m.others
	}
	return m.status().Members
}

// size returns the size of a member's database in bytes, or 0 if it is unknown.
func (m *members) size(endpoint string) int64 {
	if size := m.sizes()[endpoint]; size != nil {
		return *size
	}
	return 0
}

// withoutVote returns the known members that have no vote.
func (m *members) withoutVote() []store.Member {
	return slices.DeleteFunc(m.allMembers(), func(e store.Member) bool { return e.Role != kv.NonVoter })
}

// allMembers returns the members that are asked for their status, and then the other members of the
// cluster.
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

// describe returns a member's name and endpoint, or only the endpoint if the member has no other
// name.
func describe(e *store.Member) string {
	if cmp.Or(e.Name, e.Endpoint) == e.Endpoint {
		return e.Endpoint
	}
	return fmt.Sprintf("%s (%s)", e.Name, e.Endpoint)
}
