package record

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// RoleAt says which role a member had in a term. Where the members say no terms,
// the periods of leadership are numbered from 1 in their stead.
type RoleAt struct {
	Member ID     `json:"member"`
	Name   string `json:"name"` // the member's
	Term   uint64 `json:"term"`
	Role   string `json:"role"`
	// Since is when that was seen first.
	Since time.Time `json:"since,omitzero"`
}

// Roles is what is known of members' roles, in any order. The first entry for
// a member and term counts.
type Roles []RoleAt

// Resolve is the role that a member had in a term. A term has one leader at
// most: where that is known, every other member followed.
func (r Roles) Resolve(member, term uint64) kv.Role {
	if member == 0 {
		return kv.Unknown
	}
	role := kv.Unknown
	for _, e := range r {
		switch {
		case e.Term != term:
		case uint64(e.Member) == member && e.Role != kv.Unknown.String():
			return roleNamed(e.Role)
		case e.Role == kv.Leader.String():
			role = kv.Follower
		}
	}
	return role
}

func roleNamed(name string) kv.Role {
	for r := range kv.NumRoles {
		if r.String() == name {
			return r
		}
	}
	return kv.Unknown
}

// Served is what members of one role served, of one operation and consistency.
// Role is empty where roles are not distinguished.
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

// servedKey is what a Served is of, in the order of the list.
type servedKey struct {
	kind  kv.Kind
	level kv.Consistency
	role  kv.Role
}

func (a servedKey) compare(b servedKey) int {
	if d := int(a.kind) - int(b.kind); d != 0 {
		return d
	}
	if d := int(a.level) - int(b.level); d != 0 {
		return d
	}
	order := [kv.NumRoles]int{kv.Leader: 0, kv.Follower: 1, kv.Unknown: 2}
	return order[a.role] - order[b.role]
}

// byRole merges the cells whose members had the same role.
func byRole(cells []*measure.Cell, roles Roles) []Served {
	groups := map[servedKey]*sums{}
	for _, c := range cells {
		key := servedKey{c.Kind, c.Consistency, roles.Resolve(c.Member, c.Term)}
		gather(groups, key, c)
	}
	return list(groups, true)
}

// byOperation merges the cells of one operation and consistency.
func byOperation(cells []*measure.Cell) []Served {
	groups := map[servedKey]*sums{}
	for _, c := range cells {
		gather(groups, servedKey{kind: c.Kind, level: c.Consistency}, c)
	}
	return list(groups, false)
}

func gather(groups map[servedKey]*sums, key servedKey, c *measure.Cell) {
	if groups[key] == nil {
		groups[key] = &sums{}
	}
	groups[key].add(c)
}

func list(groups map[servedKey]*sums, roles bool) []Served {
	keys := make([]servedKey, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, servedKey.compare)
	all := make([]Served, 0, len(keys))
	for _, k := range keys {
		s := groups[k]
		served := Served{
			Operation: k.kind.String(), Consistency: k.level.String(),
			Operations: count(s.response), Errors: s.failed(),
			ResponseTime: Times{measure.Summarize(s.response, s.failed())},
			ServiceTime:  Times{measure.Summarize(s.service, s.failed())},
		}
		if roles {
			served.Role = k.role.String()
		}
		all = append(all, served)
	}
	return all
}

// sums is cells merged. A nil histogram is an empty one.
type sums struct {
	response, service *measure.Histogram
	errors            [measure.Errors]*measure.Histogram
}

func (s *sums) add(c *measure.Cell) {
	merge(&s.response, c.Response)
	merge(&s.service, c.Service)
	for i, h := range c.Failed {
		merge(&s.errors[i], h)
	}
}

func (s *sums) failed() uint64 {
	n := uint64(0)
	for _, h := range s.errors {
		n += count(h)
	}
	return n
}

// total is the sum of all times, of successes and errors, and the longest.
func (s *sums) total() (sum float64, longest int64) {
	for _, h := range append(s.errors[:], s.response) {
		if count(h) > 0 {
			sum += h.Mean() * float64(h.TotalCount())
			longest = max(longest, h.Max())
		}
	}
	return sum, longest
}

func count(h *measure.Histogram) uint64 {
	if h == nil {
		return 0
	}
	return uint64(h.TotalCount())
}

// merge adds from to *into, which it makes at need; from stays as it is.
func merge(into **measure.Histogram, from *measure.Histogram) {
	if count(from) == 0 {
		return
	}
	if *into == nil {
		*into = measure.NewHistogram()
	}
	(*into).Merge(from)
}
