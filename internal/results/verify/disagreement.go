package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// maxSightings limits the number of versions that the function disagreement compares between
// members. In a longer history, the function compares the versions of only one in n keys.
const maxSightings = 1 << 20

// minSightings is the minimum number of versions to which two members must assign different
// revisions before the check treats the members as diverged.
const minSightings = 3

// versionName identifies a version by its key and its value.
type versionName struct{ key, value uint64 }

// sighting is the revision that one member reports for a version. For example, if member 1
// acknowledges a write at revision 7, and a read at member 2 returns the same value with revision
// 6, then the version has two sightings.
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
		value, s.rev = o.Written, o.Revision
	case read:
		s.rev = o.ModRevision
	}
	ok := s.rev > 0 && value != history.Absent && value != history.UnknownValue
	return versionName{o.Key, value}, s, ok
}

// pairing compares the revisions that two members reported for the same versions. Invariant: among
// the pairs of sightings whose revisions differ, the field `first` holds the pair with the lowest
// revision.
type pairing struct {
	members        [2]uint64
	agreed         int64 // highest revision that both members reported for the same version; 0: none
	differing      uint64
	first          [2]sighting
	lastDiffering  int64 // among the pairs of sightings whose revisions differ: highest revision that the first member reported
	lastDifference int64 // second member's revision minus the first member's revision in the pair of `lastDiffering`
}

func (p *pairing) add(a, b sighting) {
	shift := b.rev - a.rev
	if shift == 0 {
		p.agreed = max(p.agreed, a.rev)
		return
	}
	if p.differing++; p.differing == 1 || max(a.rev, b.rev) < max(p.first[0].rev, p.first[1].rev) {
		p.first = [2]sighting{a, b}
	}
	if a.rev > p.lastDiffering {
		p.lastDiffering, p.lastDifference = a.rev, shift
	}
}

// hasDiverged reports whether the members agreed up to some revision and disagreed about all later
// ones.
func (p *pairing) hasDiverged() bool {
	return p.differing >= minSightings && p.agreed < max(p.first[0].rev, p.first[1].rev)
}

// disagreement compares the revisions that the members reported for the same versions, and returns
// the pairs of members that diverged.
func (c *checker) disagreement() (diverged []pairing, err error) {
	every := c.survey.operations/maxSightings + 1
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
		if p.hasDiverged() {
			diverged = append(diverged, *p)
		}
	}
	slices.SortFunc(diverged, func(a, b pairing) int {
		return cmp.Or(cmp.Compare(a.first[0].rev, b.first[0].rev), cmp.Compare(a.members[0], b.members[0]), cmp.Compare(a.members[1], b.members[1]))
	})
	return diverged, err
}

// explainByDisagreement looks for members that report different revisions for the same versions. It
// replaces the violations that such a disagreement explains by a single violation. For example, if
// a member skipped a log entry, all its later responses are wrong, so one cause explains thousands
// of violations.
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
		odd := minorityMember(pairs, &p)
		if p.members[0] == odd {
			p.members[0], p.members[1] = p.members[1], p.members[0]
			p.first[0], p.first[1] = p.first[1], p.first[0]
			p.lastDiffering, p.lastDifference = p.lastDiffering+p.lastDifference, -p.lastDifference
		}
		if err := c.explainFindings(&p); err != nil {
			return err
		}
		pairs = slices.DeleteFunc(pairs, func(q pairing) bool { return q.members == pairs[0].members || slices.Contains(q.members[:], odd) })
	}
	return nil
}

// minorityMember returns the member of a pair that disagrees with more members than the other one
// does. If both disagree with the same number of members, minorityMember returns the second member.
func minorityMember(pairs []pairing, p *pairing) uint64 {
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

// explainFindings adds a finding for a disagreement, and moves the findings that the disagreement
// can explain from the counts to the consequences.
func (c *checker) explainFindings(p *pairing) error {
	follows, err := c.explainable(p)
	if err != nil || !slices.Contains(follows, true) {
		return err
	}
	root := finding{kind: MembersDisagree, operationCount: 2, ords: [3]uint32{p.first[0].ord, p.first[1].ord}, state: p.text()}
	if c.result.Consequences == nil {
		c.result.Consequences = map[Kind]uint64{}
	}
	left := c.found.all[:0]
	for i, x := range c.found.all {
		if !follows[i] {
			left = append(left, x)
			continue
		}
		if root.guarantee == "" {
			root.guarantee, root.key = x.guarantee, x.key
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

// explainable reports, for each finding, whether a disagreement can explain the finding. Two
// conditions must hold. First, the finding must involve a late operation, that is, an operation at
// a revision above the last agreement. Second, the second member must have served a late operation
// that is a part of the finding or that uses the finding's key.
func (c *checker) explainable(p *pairing) ([]bool, error) {
	// `from` is the lowest revision that may denote different versions at the two members. For
	// example, if the second member skipped the entry at revision 8, its revision 8 is revision 9
	// of the other members, and the last revision on which the members agree is 7.
	from := p.agreed + 1 - max(p.first[0].rev-p.first[1].rev, 0)
	keys := map[uint64]bool{} // keys of the late operations that the second member served
	type findingOperation struct {
		ord   uint32
		index int // index in found.all
	}
	var users []findingOperation
	for i := range c.found.all {
		if c.found.all[i].kind == MembersDisagree || c.found.all[i].kind == WrongResponse {
			continue
		}
		for _, ord := range c.found.all[i].ords[:c.found.all[i].operationCount] {
			users = append(users, findingOperation{ord, i})
		}
	}
	slices.SortFunc(users, func(a, b findingOperation) int { return cmp.Compare(a.ord, b.ord) })
	late, follows := make([]bool, len(c.found.all)), make([]bool, len(c.found.all))
	next := 0
	err := c.forEachOperation(func(ord uint32, o *history.Op) {
		isLate := max(o.Revision, o.ModRevision, o.Expected) >= from
		served := isLate && o.Member == p.members[1]
		if served {
			keys[o.Key] = true
		}
		for ; next < len(users) && users[next].ord == ord; next++ {
			at := users[next].index
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

// text describes the disagreement in words. It compares the revisions of the second member with
// those of the first member.
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
	if p.lastDifference != shift {
		how += ", and later " + by(p.lastDifference)
	}
	return fmt.Sprintf("Members disagree starting at revision %d: member %x reports revision %d for a version of a key, but member %x reports revision %d for the same version. "+
		"%s. After that, the revisions of member %x are %s than those of member %x. One member skipped an entry that the other applied, or applied an entry twice.",
		p.first[0].rev, a, p.first[0].rev, b, p.first[1].rev, agreed, b, how, a)
}
