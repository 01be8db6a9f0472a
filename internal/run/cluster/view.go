package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// LostAfter is how long a member must have left every question unanswered to be
// lost, unless nothing listens at its endpoint any more: a slow answer, or a
// member that has much to do, is no loss.
const LostAfter = 2 * time.Second

// LeaderSample says what changed.
type LeaderSample uint8

// The changes.
const (
	Led     LeaderSample = iota // another member leads, or the first that is known
	Lost                        // a member ended, or has not answered for LostAfter
	Back                        // one that was lost answers
	Renewed                     // one that did not answer in an election answers, and follows
)

// Change is what an answer, or that none came, changes.
type Change struct {
	What   LeaderSample
	Member int // its number, from 0
	// Term is that in which the member leads; where the members say none, the
	// number of the period of leadership, from 1. Before is the one before it;
	// 0 if no leader was known.
	Term, Before uint64
	// At is when it was seen; of a member that is lost, when the first question
	// was asked that it did not answer.
	At time.Time
	// Since is, for Led, when the question was asked whose answer named the
	// leader before for the last time; zero if none was known.
	Since time.Time
	Err   error // why it is lost
}

// View is what is known of a cluster's members from their answers. It is a pure
// function of what it is given; it belongs to one goroutine, or to a lock.
type View struct {
	seats  []seat
	leader int    // -1: none is known
	term   uint64 // the highest in which a leader is known; 0 where members say none
	// number is the term, or where the members say none the number of the
	// period of leadership.
	number uint64
	// confirmed is when an answer named the leader for the last time.
	confirmed time.Time
}

// seat is one member.
type seat struct {
	last   store.Member // its last answer, with what earlier ones had beyond it
	known  bool         // there was one
	silent time.Time    // when the first question was asked that was not answered since; zero: it answers
	lost   bool
	out    bool  // another was elected while it did not answer, and it has not since
	err    error // of the last question
}

// NewView returns a View of n members of which nothing is known.
func NewView(n int) *View { return &View{seats: make([]seat, n), leader: -1} }

// Take takes member i's answer to a question that was asked and ended at the
// given times, and returns what it changes. Answers of one member come in the
// order of their questions.
func (v *View) Take(i int, asked, ended time.Time, m store.Member) []Change {
	if m.Err != nil {
		return v.unanswered(i, asked, ended, m)
	}
	var out []Change
	s := &v.seats[i]
	s.keep(m)
	if s.lost {
		out = append(out, Change{What: Back, Member: i, At: ended})
	}
	renewed := s.out
	s.known, s.silent, s.lost, s.out, s.err = true, time.Time{}, false, false, nil
	if led, ok := v.led(i, asked, ended); ok {
		return append(out, led)
	}
	if renewed {
		out = append(out, Change{What: Renewed, Member: i, Term: v.number, At: ended})
	}
	return out
}

func (v *View) unanswered(i int, asked, ended time.Time, m store.Member) []Change {
	s := &v.seats[i]
	s.err = m.Err
	s.last.Endpoint, s.last.Name = cmp.Or(m.Endpoint, s.last.Endpoint), cmp.Or(m.Name, s.last.Name)
	if s.silent.IsZero() {
		s.silent = asked
	}
	if s.lost || !m.Gone && ended.Sub(s.silent) < LostAfter {
		return nil
	}
	s.lost = true
	return []Change{{What: Lost, Member: i, At: s.silent, Err: m.Err}}
}

// keep keeps an answer, and of earlier ones what it does not have: a member's
// role alone is asked more often than all the rest.
func (s *seat) keep(m store.Member) {
	before := s.last
	s.last = m
	s.last.Endpoint = cmp.Or(m.Endpoint, before.Endpoint)
	s.last.ID = cmp.Or(m.ID, before.ID)
	s.last.Name = cmp.Or(m.Name, before.Name)
	s.last.Version = cmp.Or(m.Version, before.Version)
	s.last.DBSize, s.last.Room = cmp.Or(m.DBSize, before.DBSize), cmp.Or(m.Room, before.Room)
	if m.Alarms == nil {
		s.last.Alarms = before.Alarms
	}
}

// led looks for a new leader in member i's last answer.
func (v *View) led(i int, asked, ended time.Time) (Change, bool) {
	m := &v.seats[i].last
	leader := -1
	switch {
	case m.Role == kv.Leader:
		leader = i
	case m.Leader != 0:
		leader = v.numbered(m.Leader)
	}
	if leader >= 0 && leader == v.leader && m.Term == v.term {
		v.confirmed = asked
	}
	if leader < 0 || !v.succeeds(leader, m.Term) {
		return Change{}, false
	}
	c := Change{What: Led, Member: leader, Before: v.number, At: ended, Since: v.confirmed}
	v.leader, v.term, v.confirmed = leader, m.Term, asked
	if v.number++; m.Term > 0 {
		v.number = m.Term
	}
	c.Term = v.number
	for k := range v.seats {
		v.seats[k].out = v.seats[k].out || k != leader && !v.seats[k].silent.IsZero()
	}
	v.seats[leader].out = false
	return c, true
}

// succeeds reports whether a member that leads in a term is the next leader. A
// term has one leader at most, so that what is said of an earlier one, as by a
// member that stood still while another was elected, is of the past. Where no
// terms are said, a leader is one until it says otherwise, or nothing.
func (v *View) succeeds(leader int, term uint64) bool {
	switch {
	case v.leader < 0:
		return true
	case term > 0 || v.term > 0:
		return term > v.term
	}
	now := &v.seats[v.leader]
	return leader != v.leader && (now.last.Role != kv.Leader || !now.silent.IsZero())
}

// numbered is the member with an ID; -1 if it is none of those that are asked.
func (v *View) numbered(id uint64) int {
	for i := range v.seats {
		if v.seats[i].known && v.seats[i].last.ID == id {
			return i
		}
	}
	return -1
}

// Leader is the member that leads, and the number of its term; -1 if none is
// known.
func (v *View) Leader() (i int, term uint64) { return v.leader, v.number }

// Followers lists the members other than the leader, and with a vote, to which a load
// on the followers goes. One that did not answer while the leader was elected is left out until
// it answers, unless there is no other.
func (v *View) Followers() []int {
	var in, all []int
	for i := range v.seats {
		if v.leader < 0 || i == v.leader || v.seats[i].last.Role == kv.NonVoter {
			continue
		}
		all = append(all, i)
		if !v.seats[i].out {
			in = append(in, i)
		}
	}
	if len(in) > 0 {
		return in
	}
	return all
}

// Members lists the members as they said last that they are, and those that are
// lost, or never answered, with why.
func (v *View) Members() []store.Member {
	out := make([]store.Member, len(v.seats))
	for i := range v.seats {
		s := &v.seats[i]
		if out[i] = s.last; s.lost || !s.known {
			out[i].Err = s.err
		}
	}
	return out
}

// Endpoints is where a target that is no kv.Any is now. voting leaves members without
// a vote out of kv.All.
func (v *View) Endpoints(t kv.Target, voting bool) ([]string, error) {
	var out []string
	add := func(i int) { out = append(out, v.seats[i].last.Endpoint) }
	n := len(v.seats)
	switch t.Mode {
	case kv.LeaderOnly:
		if v.leader < 0 {
			return nil, fmt.Errorf("target leader: none of the %d members leads", n)
		}
		add(v.leader)
	case kv.Followers:
		for _, i := range v.Followers() {
			add(i)
		}
		if len(out) == 0 {
			return nil, errors.New("target followers: the cluster has no follower that answers")
		}
	case kv.One:
		if t.Member < 1 || t.Member > n {
			return nil, fmt.Errorf("target %v: the cluster has %d members", t, n)
		}
		add(t.Member - 1)
	default:
		for i := range v.seats {
			if !voting || v.seats[i].last.Role != kv.NonVoter {
				add(i)
			}
		}
		switch {
		case n == 0:
			return nil, fmt.Errorf("target %v: the cluster names no member", t)
		case len(out) == 0:
			return nil, fmt.Errorf("target %v: none of the %d members has a vote", t, n)
		}
	}
	return out, nil
}
