package measure

// Answers name the member that they come from and its term, and each pair of
// them has histograms of its own: half a megabyte and more. A cluster has few
// members and elects seldom, but a server can name a new one in every answer.

const (
	// MaxReported is how many pairs of member and term one loop keeps apart in a
	// whole load, and a load in each of its phases: those of seven members in
	// four elections, or of one leader in thirty.
	MaxReported = 32
	// MaxReportedInSecond is how many of them one loop keeps apart within a second:
	// seven members, before and after an election.
	MaxReportedInSecond = 16
	// MaxReportedFailed is how many kinds of errors one loop keeps apart by member
	// and term in a whole load.
	MaxReportedFailed = 32
)

// Reported is pairs of member and term that answers named.
type Reported struct {
	pairs [MaxReported]struct{ member, term uint64 }
	n     int
}

// Take reports whether a pair is one of the first most that were named; most is
// at most MaxReported. That none was named always is.
func (r *Reported) Take(member, term uint64, most int) bool {
	if member == 0 && term == 0 {
		return true
	}
	for i := range r.pairs[:r.n] {
		if p := &r.pairs[i]; p.member == member && p.term == term {
			return true
		}
	}
	if r.n >= most {
		return false
	}
	r.pairs[r.n].member, r.pairs[r.n].term = member, term
	r.n++
	return true
}

// Unnamed is the series of what is not kept apart: its role is unknown.
func (s Series) Unnamed() Series {
	s.Member, s.Term = 0, 0
	return s
}

// bounded are the cells with those whose pair is not of the first MaxReported put
// into the unnamed series. The cells of from stay as they are.
func (r *Reported) bounded(from []*Cell) []*Cell {
	for i, c := range from {
		if r.Take(c.Member, c.Term, MaxReported) {
			continue
		}
		list := append([]*Cell(nil), from...)
		for ; i < len(list); i++ {
			if one := *list[i]; !r.Take(one.Member, one.Term, MaxReported) {
				one.Series = one.Unnamed()
				list[i] = &one
			}
		}
		return list
	}
	return from
}
