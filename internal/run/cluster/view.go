package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// LostAfter is how long a member must have left every request unanswered to count as lost,
// unless its port is closed. A slow answer or a busy member does not count.
const LostAfter = 2 * time.Second

// LeaderSample is the kind of a change.
type LeaderSample uint8

// The kinds of changes.
const (
	Led     LeaderSample = iota // another member leads, or the first known one does
	Lost                        // a member ended, or has not answered for LostAfter
	Back                        // a lost member answers
	Renewed                     // a member that did not answer in an election answers, and follows
)

// Change is what an answer, or a missing one, changes.
type Change struct {
	What   LeaderSample
	Member int // its index
	// Term is the term in which the member leads. If the members report none, it counts the
	// periods of leadership from 1. Before is the previous one; 0 if no leader was known.
	Term, Before uint64
	// At is when the change was seen. For a lost member it is when the first unanswered
	// request was sent.
	At time.Time
	// Since, for Led, is when the request was sent whose answer last named the previous
	// leader; zero if none was known.
	Since time.Time
	Err   error // why the member is lost
}

// View is the known state of a cluster's members, derived only from their answers. It is
// not safe for concurrent use.
type View struct {
	seats  []seat
	leader int    // index; -1: unknown
	term   uint64 // the highest term with a known leader; 0 if members report none
	// number is the term, or the count of periods of leadership if members report no terms.
	number uint64
	// confirmed is when the last request was sent whose answer named the leader.
	confirmed time.Time
}

// seat is the state of one member.
type seat struct {
	last   store.Member // its last answer, completed by earlier ones
	known  bool         // it has answered
	silent time.Time    // when the first request since its last answer was sent; zero: it answers
	lost   bool
	out    bool  // another leader was elected while it did not answer, and it has not answered since
	err    error // of the last request
}

// NewView returns a View of n members with unknown states.
func NewView(n int) *View { return &View{seats: make([]seat, n), leader: -1} }

// Take records member i's answer to a request that was sent and answered at the given
// times, and returns what it changes. The answers of one member must come in the order of
// its requests.
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

// keep records an answer, and keeps from earlier ones what it lacks: a member's role is
// asked for more often than the rest.
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

// led checks whether member i's last answer names a new leader.
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

// succeeds reports whether a member that leads in a term is the next leader. A term has at
// most one leader, so a statement about an earlier term is outdated, such as that of a
// leader that was stopped while another was elected. Without terms, a leader remains one
// until it reports another role or does not answer.
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

// numbered returns the index of the member with an ID, or -1 if it is not among those
// asked.
func (v *View) numbered(id uint64) int {
	for i := range v.seats {
		if v.seats[i].known && v.seats[i].last.ID == id {
			return i
		}
	}
	return -1
}

// Leader returns the index of the leader and its term; the index is -1 if no leader is
// known.
func (v *View) Leader() (i int, term uint64) { return v.leader, v.number }

// Followers lists the members that have a vote and do not lead, for a load whose target is
// the followers. A member that did not answer while the leader was elected is left out
// until it answers, unless there is no other.
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

// Members lists the members in their last reported states. Members that are lost, or have
// never answered, have an error.
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

// Endpoints returns the present endpoints of a target other than kv.Any. voting leaves
// members without a vote out of kv.All.
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
