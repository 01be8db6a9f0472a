package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// mostSightings is the maximum number of versions that are compared between members. In a longer
// history, only every n-th key is compared.
const mostSightings = 1 << 20

// fewestSightings is the minimum number of versions to which two members must give different
// revisions. With fewer, the difference does not explain other violations.
const fewestSightings = 3

// versionName identifies a version by its key and its value.
type versionName struct{ key, value uint64 }

// sighting is the revision that one member gives to a version. For example, member 1 acknowledges a
// write at revision 7, and a read at member 2 returns the same value with revision 6. These are two
// sightings of the same version.
type sighting struct {
	member uint64
	rev    int64
	ord    uint32
}

// sightingOf returns the version that an operation wrote or returned, and the revision of that
// version at the member that served the operation.
func sightingOf(o *history.Op, ord uint32) (versionName, sighting, bool) {
	s := sighting{member: o.Member, ord: ord}
	if o.Member == 0 || o.Kind == kv.Watch || isAuxiliary(o) {
		return versionName{}, s, false
	}
	value := o.Read
	switch roleOf(o) {
	case wrote:
		value, s.rev = o.Written, o.At
	case read:
		s.rev = o.Mod
	}
	ok := s.rev > 0 && value != history.Absent && value != history.Unseen
	return versionName{o.Key, value}, s, ok
}

// pairing compares two members by the versions that both returned. Invariant: among the pairs of
// sightings with different revisions, first is the pair with the lowest revision.
type pairing struct {
	members [2]uint64
	agreed  int64 // highest revision that both members returned for the same version; 0: none
	differ  uint64
	first   [2]sighting
	last    int64 // highest revision, at the first member, among the sightings with different revisions
	atLast  int64 // by how much the second member's revision was higher at that point
}

func (p *pairing) add(a, b sighting) {
	shift := b.rev - a.rev
	if shift == 0 {
		p.agreed = max(p.agreed, a.rev)
		return
	}
	if p.differ++; p.differ == 1 || max(a.rev, b.rev) < max(p.first[0].rev, p.first[1].rev) {
		p.first = [2]sighting{a, b}
	}
	if a.rev > p.last {
		p.last, p.atLast = a.rev, shift
	}
}

// diverged reports whether the members agree up to a revision, but never after it.
func (p *pairing) diverged() bool {
	return p.differ >= fewestSightings && p.agreed < max(p.first[0].rev, p.first[1].rev)
}

// disagreement returns the pairs of members that diverged. For each pair, it compares the revisions
// that the two members gave to the same versions.
func (c *checker) disagreement() (diverged []pairing, err error) {
	every := c.survey.operations/mostSightings + 1
	seen := map[versionName]sighting{}
	pairs := map[[2]uint64]*pairing{}
	err = c.forEachOperation(func(ord uint32, o *history.Op) {
		name, s, ok := sightingOf(o, ord)
		if !ok || mixed(o.Key)%every != 0 {
			return
		}
		a, known := seen[name]
		if !known {
			seen[name] = s
			return
		}
		if a.member == s.member {
			return
		}
		b := s
		if a.member > b.member {
			a, b = b, a
		}
		id := [2]uint64{a.member, b.member}
		p := pairs[id]
		if p == nil {
			p = &pairing{members: id}
			pairs[id] = p
		}
		p.add(a, b)
	})
	for _, p := range pairs {
		if p.diverged() {
			diverged = append(diverged, *p)
		}
	}
	slices.SortFunc(diverged, func(a, b pairing) int {
		return cmp.Or(cmp.Compare(a.first[0].rev, b.first[0].rev), cmp.Compare(a.members[0], b.members[0]), cmp.Compare(a.members[1], b.members[1]))
	})
	return diverged, err
}

// explainByDisagreement looks for members that give different revisions to the same versions. It
// moves the violations that follow from this difference out of the counts. If one member skipped an
// entry, all its later responses are wrong, so this single cause explains thousands of violations.
func (c *checker) explainByDisagreement() error {
	if len(c.found.counts) == 0 || c.found.counts[WrongResponse] > 0 && len(c.found.counts) == 1 {
		return nil
	}
	pairs, err := c.disagreement()
	if err != nil || len(pairs) == 0 {
		return err
	}
	for len(pairs) > 0 {
		p := pairs[0]
		odd := oddMember(pairs, &p)
		if p.members[0] == odd {
			p.members[0], p.members[1] = p.members[1], p.members[0]
			p.first[0], p.first[1] = p.first[1], p.first[0]
			p.last, p.atLast = p.last+p.atLast, -p.atLast
		}
		if err := c.follow(&p); err != nil {
			return err
		}
		pairs = slices.DeleteFunc(pairs, func(q pairing) bool { return q.members == pairs[0].members || slices.Contains(q.members[:], odd) })
	}
	return nil
}

// oddMember returns the member of a pair that disagrees with more of the other members. If both
// disagree with the same number, it returns the second member.
func oddMember(pairs []pairing, p *pairing) uint64 {
	with := map[uint64]int{}
	for i := range pairs {
		with[pairs[i].members[0]]++
		with[pairs[i].members[1]]++
	}
	if with[p.members[0]] > with[p.members[1]] {
		return p.members[0]
	}
	return p.members[1]
}

// follow adds a disagreement as a finding. It counts the findings that the disagreement can explain
// as its consequences.
func (c *checker) follow(p *pairing) error {
	follows, err := c.following(p)
	if err != nil || !slices.Contains(follows, true) {
		return err
	}
	root := finding{kind: Disagreement, n: 2, ords: [3]uint32{p.first[0].ord, p.first[1].ord}, state: p.text()}
	if c.result.Consequences == nil {
		c.result.Consequences = map[Kind]uint64{}
	}
	left := c.found.all[:0]
	for i, x := range c.found.all {
		if !follows[i] {
			left = append(left, x)
			continue
		}
		if root.promise == "" {
			root.promise, root.key = x.promise, x.key
		}
		c.result.Consequences[x.kind]++
		if c.found.counts[x.kind]--; c.found.counts[x.kind] == 0 {
			delete(c.found.counts, x.kind)
		}
	}
	c.found.all = left
	c.found.add(root)
	return nil
}

// following reports, for each finding, whether a disagreement can explain it. This is possible if
// two conditions hold: the finding is about operations after the last agreement, and the second
// member served one of these operations or an operation on the same key.
func (c *checker) following(p *pairing) ([]bool, error) {
	// from is the first revision at which the second member may refer to a different version. For
	// example, if the second member skipped the entry at revision 8, the other members' revision 9
	// is its revision 8, and the members agreed last at revision 7.
	from := p.agreed + 1 - max(p.first[0].rev-p.first[1].rev, 0)
	keys := map[uint64]bool{} // keys that the second member served
	type user struct {
		ord uint32
		at  int // index in found.all
	}
	var users []user
	for i := range c.found.all {
		if c.found.all[i].kind == Disagreement || c.found.all[i].kind == WrongResponse {
			continue
		}
		for _, ord := range c.found.all[i].ords[:c.found.all[i].n] {
			users = append(users, user{ord, i})
		}
	}
	slices.SortFunc(users, func(a, b user) int { return cmp.Compare(a.ord, b.ord) })
	late, follows := make([]bool, len(c.found.all)), make([]bool, len(c.found.all))
	next := 0
	err := c.forEachOperation(func(ord uint32, o *history.Op) {
		isLate := max(o.At, o.Mod, o.Expected) >= from
		served := isLate && o.Member == p.members[1]
		if served {
			keys[o.Key] = true
		}
		for ; next < len(users) && users[next].ord == ord; next++ {
			at := users[next].at
			late[at], follows[at] = late[at] || isLate, follows[at] || served
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range follows {
		x := &c.found.all[i]
		follows[i] = follows[i] || late[i] && keys[x.key] && !slices.Contains(keyless, x.kind)
	}
	return follows, nil
}

// text describes the disagreement in words, from the point of view of the second member.
func (p *pairing) text() string {
	a, b := p.members[0], p.members[1]
	agreed := "They never agreed before that revision"
	if p.agreed > 0 {
		agreed = fmt.Sprintf("They last agreed on revision %d", p.agreed)
	}
	by := func(shift int64) string {
		if shift < 0 {
			return fmt.Sprintf("%d lower", -shift)
		}
		return fmt.Sprintf("%d higher", shift)
	}
	shift := p.first[1].rev - p.first[0].rev
	how := by(shift)
	if p.atLast != shift {
		how += ", and later " + by(p.atLast)
	}
	return fmt.Sprintf("Members disagree starting at revision %d: member %x has this version at revision %d, but member %x has it at revision %d. "+
		"%s. After that, the revisions of member %x are %s. One member skipped an entry that the other applied, or applied an entry twice.",
		p.first[0].rev, a, p.first[0].rev, b, p.first[1].rev, agreed, b, how)
}
