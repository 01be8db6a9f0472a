package measure

// Answers name the member that they come from and its term, and each pair of
// them has histograms of its own: half a megabyte and more. A cluster has few
// members and elects seldom, but a server can name a new one in every answer.

const (
	// MaxTold is how many pairs of member and term one loop keeps apart in a
	// whole load, and a load in each of its phases: those of seven members in
	// four elections, or of one leader in thirty.
	MaxTold = 32
	// MaxToldInSecond is how many of them one loop keeps apart within a second:
	// seven members, before and after an election.
	MaxToldInSecond = 16
	// MaxToldFailed is how many kinds of errors one loop keeps apart by member
	// and term in a whole load.
	MaxToldFailed = 32
)

// Told is pairs of member and term that answers named.
type Told struct {
	pairs [MaxTold]struct{ member, term uint64 }
	n     int
}

// Take reports whether a pair is one of the first most that were named; most is
// at most MaxTold. That none was named always is.
func (t *Told) Take(member, term uint64, most int) bool {
	if member == 0 && term == 0 {
		return true
	}
	for i := range t.pairs[:t.n] {
		if p := &t.pairs[i]; p.member == member && p.term == term {
			return true
		}
	}
	if t.n >= most {
		return false
	}
	t.pairs[t.n].member, t.pairs[t.n].term = member, term
	t.n++
	return true
}

// Unnamed is the series of what is not kept apart: its role is unknown.
func (s Series) Unnamed() Series {
	s.Member, s.Term = 0, 0
	return s
}

// bounded are the cells with those whose pair is not of the first MaxTold put
// into the unnamed series. The cells of from stay as they are.
func (t *Told) bounded(from []*Cell) []*Cell {
	for i, c := range from {
		if t.Take(c.Member, c.Term, MaxTold) {
			continue
		}
		list := append([]*Cell(nil), from...)
		for ; i < len(list); i++ {
			if one := *list[i]; !t.Take(one.Member, one.Term, MaxTold) {
				one.Series = one.Unnamed()
				list[i] = &one
			}
		}
		return list
	}
	return from
}
