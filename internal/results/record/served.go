package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// RoleAt is the role of a member in a term. If the members of a store do not report terms, Term
// counts the periods between leader changes, from 1.
type RoleAt struct {
	Member ID     `json:"member"`
	Name   string `json:"name"` // the member's name
	Term   uint64 `json:"term"`
	Role   string `json:"role"`
	// Since is the time at which the role was first observed.
	Since time.Time `json:"since,omitzero"`
}

// RoleHistory holds the known roles of members, in any order. If there are several entries for a
// member in a term, only the first one counts.
type RoleHistory []RoleAt

// Resolve returns the role of a member in a term. A term has at most one leader. If another member
// is known to be the leader, and the member has no entry for this term, the member counts as a
// follower.
func (r RoleHistory) Resolve(member, term uint64) kv.Role {
	if member == 0 {
		return kv.UnknownRole
	}
	role := kv.UnknownRole
	for _, e := range r {
		switch {
		case e.Term != term:
		case uint64(e.Member) == member && e.Role == kv.Leader.String():
			return kv.Leader
		case uint64(e.Member) == member && e.Role == kv.Follower.String():
			return kv.Follower
		case uint64(e.Member) == member && e.Role == kv.NonVoter.String():
			return kv.NonVoter
		case e.Role == kv.Leader.String():
			role = kv.Follower
		}
	}
	return role
}

// NonVoters returns the names of members that were non-voters at any time.
func (r RoleHistory) NonVoters() (names []string) {
	for _, e := range r {
		if e.Role == kv.NonVoter.String() && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Served holds the results of the operations of one kind and consistency that members with the same
// role served. Role is empty if the results are not divided by role.
type Served struct {
	Operation    string `json:"operation"`
	Consistency  string `json:"consistency"`
	Role         string `json:"role,omitempty"`
	Operations   uint64 `json:"operations"`
	Errors       uint64 `json:"errors"`
	ResponseTime Times  `json:"response_time_ns"`
	ServiceTime  Times  `json:"service_time_ns"`
}

func (s *Served) restore() {
	s.ResponseTime.restore(s.Errors)
	s.ServiceTime.restore(s.Errors)
}

// servedKey identifies a Served in a list. The list is sorted by this key.
type servedKey struct {
	kind  kv.Kind
	level kv.Consistency
	role  kv.Role
}

func (a servedKey) compare(b servedKey) int {
	order := [kv.NumRoles]int{kv.Leader: 0, kv.Follower: 1, kv.NonVoter: 2, kv.UnknownRole: 3}
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.level, b.level), cmp.Compare(order[a.role], order[b.role]))
}

// byRole returns the results of the cells, combined by operation, consistency and role.
func byRole(cells []*measure.Cell, roles RoleHistory) []Served {
	return served(cells, func(c *measure.Cell) kv.Role { return roles.Resolve(c.Member, c.Term) })
}

// byOperation returns the results of the cells, combined by operation and consistency.
func byOperation(cells []*measure.Cell) []Served {
	all := served(cells, func(*measure.Cell) kv.Role { return kv.UnknownRole })
	for i := range all {
		all[i].Role = ""
	}
	return all
}

// served returns the results of the cells, combined by operation, consistency and the role that the
// function `role` returns.
func served(cells []*measure.Cell, role func(*measure.Cell) kv.Role) []Served {
	groups := map[servedKey]*measure.Cell{}
	for _, c := range cells {
		key := servedKey{c.Kind, c.Consistency, role(c)}
		if groups[key] == nil {
			groups[key] = &measure.Cell{}
		}
		groups[key].Merge(c)
	}
	all := make([]Served, 0, len(groups))
	for _, key := range slices.SortedFunc(maps.Keys(groups), servedKey.compare) {
		s := groups[key]
		all = append(all, Served{
			Operation: key.kind.String(), Consistency: key.level.String(), Role: key.role.String(),
			Operations: measure.Count(s.Response), Errors: s.CountFailed(),
			ResponseTime: Times{measure.Summarize(s.Response, s.CountFailed())},
			ServiceTime:  Times{measure.Summarize(s.Service, s.CountFailed())},
		})
	}
	return all
}

// ByMember reports on the operations at one member during the window.
type ByMember struct {
	Name     string `json:"name"` // empty for operations about which it is not known whether they reached a member
	Endpoint string `json:"endpoint,omitempty"`
	ID       ID     `json:"id"`
	// Operations is the number of operations due in the window that completed, and Errors is the
	// number that failed. Share is the sum of Operations and Errors, divided by the total of this
	// sum over all entries.
	Operations uint64  `json:"operations"`
	Errors     uint64  `json:"errors"`
	Share      float64 `json:"share"`
	// ByOperation holds the times by operation and consistency.
	ByOperation []Served `json:"by_operation,omitempty"`
	// Connections reports on the connections to the member. It is null if the load had no
	// connections to it.
	Connections *MemberConnections `json:"connections"`
	// Clients describes the clients of a closed loop whose connections led to this member during
	// the whole window. It is absent if there are no such clients.
	Clients *Evenness `json:"clients,omitempty"`
	// Alarms lists the alarms that the member had raised by the end of the load, such as NOSPACE.
	Alarms []string `json:"alarms,omitempty"`
}

// MemberConnections reports on the connections to a member during the window.
type MemberConnections struct {
	AtOpening int `json:"at_opening"` // number of connections at the start of the window
	Fewest    int `json:"fewest"`     // lowest number of connections during the window
	Lost      int `json:"lost"`       // number of connections that were lost
	// LostAt is the time at which the number of connections first fell below AtOpening. BackAt is
	// the time at which the number reached AtOpening again and did not fall below it later. Both
	// are in seconds after the start of the window. They are null if this did not happen.
	LostAt *float64 `json:"lost_at_seconds"`
	BackAt *float64 `json:"back_at_seconds"`
	// WhileLost reports how the cluster served the load between LostAt and BackAt. It is null if
	// there is no whole second between these times.
	WhileLost *ServiceWhileLost `json:"meanwhile"`
}

// ServiceWhileLost reports how the cluster served the load while a member had fewer connections. It
// covers only whole seconds.
type ServiceWhileLost struct {
	Seconds int `json:"seconds"`
	// PerSecond is the throughput of all members in these seconds. PerSecondOtherwise is their
	// throughput in the other whole seconds of the window. PerSecondOtherwise is null if there are
	// no other seconds.
	PerSecond          float64  `json:"operations_per_second"`
	PerSecondOtherwise *float64 `json:"operations_per_second_otherwise"`
	// Shares holds the share of each member, by the member's name, in the operations that were due
	// in these seconds. The shares cover only operations that a known member served.
	Shares map[string]float64 `json:"shares"`
}

// DoneCounts holds counts for each second of the window. Total is the number of operations that
// were done in the second. ByMember is, for each member, the number of successful operations that
// were due in the second. If the list of a member is shorter than the window, the member had no
// successes in the missing seconds.
type DoneCounts struct {
	Total    []uint64
	ByMember map[uint64][]uint64
}

// add adds the counts of one second of the window.
func (a *DoneCounts) add(s *measure.Second) {
	a.Total = addAtIndex(a.Total, s.Index, s.Done)
	for _, c := range s.Cells {
		if n := measure.Count(c.Response); n > 0 {
			if a.ByMember == nil {
				a.ByMember = map[uint64][]uint64{}
			}
			a.ByMember[c.Member] = addAtIndex(a.ByMember[c.Member], s.Index, n)
		}
	}
}

func addAtIndex(counts []uint64, index int, n uint64) []uint64 {
	for len(counts) <= index {
		counts = append(counts, 0)
	}
	counts[index] += n
	return counts
}

// byMember returns an entry for each member, in the order of `members`. If there are operations
// whose member is not known, an entry for these operations follows.
func byMember(m *measure.Totals, members []Member, answered *DoneCounts) []ByMember {
	all := make([]ByMember, 0, len(members)+1)
	for _, e := range members {
		all = append(all, ByMember{Name: e.Name, Endpoint: e.Endpoint, ID: e.ID, Alarms: e.Alarms})
	}
	for i := range m.Links {
		at := slices.IndexFunc(all, func(b ByMember) bool { return b.Endpoint == m.Links[i].Endpoint })
		if at < 0 {
			at = len(all)
			all = append(all, ByMember{Name: m.Links[i].Endpoint, Endpoint: m.Links[i].Endpoint})
		}
		all[at].Connections = newMemberConnections(&m.Links[i])
	}
	for i := range all {
		all[i].Clients = clientsAt(m.Connections, all[i].Endpoint)
	}
	unknown, total := ByMember{}, uint64(0)
	cells := map[*ByMember][]*measure.Cell{}
	for _, c := range m.Cells {
		into := &unknown
		if at := slices.IndexFunc(all, func(b ByMember) bool { return c.Member != 0 && uint64(b.ID) == c.Member }); at >= 0 {
			into = &all[at]
		}
		succeeded, failed := measure.Count(c.Response), c.CountFailed()
		into.Operations += succeeded
		into.Errors += failed
		total += succeeded + failed
		cells[into] = append(cells[into], c)
	}
	for of, cells := range cells {
		of.ByOperation = byOperation(cells)
	}
	if unknown.Operations+unknown.Errors > 0 {
		all = append(all, unknown)
	}
	for i := range all {
		if total > 0 {
			all[i].Share = float64(all[i].Operations+all[i].Errors) / float64(total)
		}
		if l := all[i].Connections; l != nil && l.LostAt != nil && answered != nil {
			l.WhileLost = serviceWhileLost(l, m.Seconds, all, answered)
		}
	}
	return all
}

func newMemberConnections(l *measure.Link) *MemberConnections {
	at := func(seconds float64) *float64 {
		if seconds < 0 {
			return nil
		}
		return &seconds
	}
	return &MemberConnections{AtOpening: l.Connections, Fewest: l.MinConnections, Lost: l.Lost, LostAt: at(l.LostAt), BackAt: at(l.BackAt)}
}

// serviceWhileLost reports on the whole seconds in which a member had fewer connections. They end
// when the connections are back, or at the end of the window.
func serviceWhileLost(l *MemberConnections, seconds float64, members []ByMember, a *DoneCounts) *ServiceWhileLost {
	whole := min(int(math.Floor(seconds)), len(a.Total))
	from, to := int(math.Ceil(*l.LostAt)), whole
	if l.BackAt != nil {
		to = min(to, int(math.Floor(*l.BackAt)))
	}
	if from >= to {
		return nil
	}
	out := &ServiceWhileLost{Seconds: to - from, Shares: map[string]float64{}}
	out.PerSecond = float64(measure.SumBetween(a.Total, from, to)) / float64(to-from)
	// Two seconds count neither as seconds with fewer connections nor as other seconds: the second
	// in which the connections were lost, and the second in which they came back.
	if before, behind := int(math.Floor(*l.LostAt)), to+1; before+max(whole-behind, 0) > 0 {
		done := measure.SumBetween(a.Total, 0, before) + measure.SumBetween(a.Total, behind, whole)
		out.PerSecondOtherwise = new(float64(done) / float64(before+max(whole-behind, 0)))
	}
	total := uint64(0)
	for _, b := range members {
		if b.ID != 0 { // operations of unknown members have the ID 0
			total += measure.SumBetween(a.ByMember[uint64(b.ID)], from, to)
		}
	}
	for _, b := range members {
		if total > 0 && b.ID != 0 {
			out.Shares[b.Name] = float64(measure.SumBetween(a.ByMember[uint64(b.ID)], from, to)) / float64(total)
		}
	}
	return out
}
