package measure

// Replies contain the replying member's ID and term. Each pair of member and term has its own
// histograms, which take half a megabyte or more. A cluster has few members and rarely elects a
// leader, but a faulty server could return a new member ID in every reply. Therefore the number of
// pairs is limited.

const (
	// MaxReported is the maximum number of pairs of member and term that one loop distinguishes in
	// a whole load, and that a load distinguishes in each phase. It is sufficient for seven members
	// in four elections, or for thirty elections if only the leader replies.
	MaxReported = 32
	// MaxReportedInSecond is the maximum number of pairs that one loop distinguishes in a second.
	// It is sufficient for seven members before and after an election.
	MaxReportedInSecond = 16
	// MaxReportedFailed is the maximum number of combinations of member, term and kind of error
	// that one loop distinguishes in a load.
	MaxReportedFailed = 32
)

// MemberTerms is the set of pairs of member and term that replies have contained.
type MemberTerms struct {
	pairs [MaxReported]struct{ member, term uint64 }
	n     int
}

// Accept reports whether a pair is among the first `limit` different pairs. `limit` must not exceed
// MaxReported. For a reply without member and term, Accept always returns true.
func (r *MemberTerms) Accept(member, term uint64, limit int) bool {
	if member == 0 && term == 0 {
		return true
	}
	for i := range r.pairs[:r.n] {
		if p := &r.pairs[i]; p.member == member && p.term == term {
			return true
		}
	}
	if r.n >= limit {
		return false
	}
	r.pairs[r.n].member, r.pairs[r.n].term = member, term
	r.n++
	return true
}

// WithoutMember returns the series without member and term. The member's role is then unknown.
func (s Series) WithoutMember() Series {
	s.Member, s.Term = 0, 0
	return s
}

// limitMembers returns the given cells, but replaces each cell whose pair is not among the first
// MaxReported pairs by a copy without member and term. It does not change the given cells.
func (r *MemberTerms) limitMembers(cells []*Cell) []*Cell {
	for i, c := range cells {
		if r.Accept(c.Member, c.Term, MaxReported) {
			continue
		}
		list := append([]*Cell(nil), cells...)
		for ; i < len(list); i++ {
			if one := *list[i]; !r.Accept(one.Member, one.Term, MaxReported) {
				one.Series = one.WithoutMember()
				list[i] = &one
			}
		}
		return list
	}
	return cells
}
