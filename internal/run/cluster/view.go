package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// LostAfter is the time after which a member that has not answered any request is lost. A member
// whose port is closed is lost immediately. A member that is only slow or busy is not lost.
const LostAfter = 2 * time.Second

// LeaderSample is the kind of a Change.
type LeaderSample uint8

// The kinds of changes.
const (
	LeaderSeen LeaderSample = iota // a member is the new leader, or the first known leader
	Lost                           // a member exited or has not responded for LostAfter
	MemberBack                     // a lost member responds again
	Renewed                        // a follower that did not respond during the last election responds
)

// Change is a change of a member's state. It follows from a response of a member, or from a missing
// response.
type Change struct {
	What   LeaderSample
	Member int // index of the member
	// Term is the term in which the member is leader. If the members report no terms, the periods
	// of leadership are numbered from 1. Before is the previous term, or 0 if no leader was known.
	Term, Before uint64
	// At is the time at which the change was detected. For a lost member, it is the time at which the
	// first unanswered request was sent.
	At time.Time
	// Since is set only for LeaderSeen. It is the send time of the last request whose response named
	// the previous leader. It is zero if no leader was known.
	Since time.Time
	Err   error // reason why the member is lost
}

// View is the known state of a cluster's members. It is derived only from their responses. It is
// not safe for concurrent use.
type View struct {
	seats  []seat
	leader int    // index of the leader, or -1 if unknown
	term   uint64 // the highest term whose leader is known, or 0 if members report no terms
	// number is the term. If members report no terms, it is the number of the period of leadership.
	number uint64
	// confirmed is the send time of the last request whose response named the current leader.
	confirmed time.Time
}

// seat is the state of one member.
type seat struct {
	last   store.Member // last response, with missing fields taken from earlier responses
	known  bool         // whether the member has ever responded
	silent time.Time    // send time of the first unanswered request since the last response; zero if there is none
	lost   bool
	out    bool  // whether the member did not respond when the current leader was elected, and still does not respond
	err    error // error of the last request
}

// NewView returns a View of n members whose states are unknown.
func NewView(n int) *View { return &View{seats: make([]seat, n), leader: -1} }

// Update records a response of member i, and returns the changes that follow from it. asked and
// ended are the times at which the request was sent and answered. The responses of each member must
// be passed in the order of the requests.
func (v *View) Update(i int, asked, ended time.Time, m store.Member) []Change {
	if m.Err != nil {
		return v.unanswered(i, asked, ended, m)
	}
	var out []Change
	s := &v.seats[i]
	s.keep(m)
	if s.lost {
		out = append(out, Change{What: MemberBack, Member: i, At: ended})
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

// keep records a response. A field that the response lacks keeps its earlier value, because most
// requests ask only for a member's role.
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

// led checks whether member i's last response names a new leader.
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
	c := Change{What: LeaderSeen, Member: leader, Before: v.number, At: ended, Since: v.confirmed}
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

// succeeds reports whether a member replaces the known leader, if a response names this member as
// leader in the given term. A term has at most one leader, so a response about an earlier term is
// outdated. For example, a leader that was suspended while another leader was elected still reports
// that it is leader. If members report no terms, a leader remains leader until it reports another
// role or does not respond.
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

// numbered returns the index of the member with the given ID. It returns -1 if no member with this
// ID has responded yet.
func (v *View) numbered(id uint64) int {
	for i := range v.seats {
		if v.seats[i].known && v.seats[i].last.ID == id {
			return i
		}
	}
	return -1
}

// Leader returns the index and the term of the leader. The index is -1 if no leader is known.
func (v *View) Leader() (i int, term uint64) { return v.leader, v.number }

// Followers returns the voting members other than the leader, for a load whose target is the
// followers. A member that did not respond while the leader was elected is omitted until it
// responds, unless all followers would be omitted.
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

// Members returns the last reported state of each member. For a member that is lost or has never
// responded, Err is set.
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

// Endpoints returns the current endpoints for a target other than kv.Any. If voting is set, kv.All
// omits members without a vote.
func (v *View) Endpoints(t kv.Target, voting bool) ([]string, error) {
	var out []string
	add := func(i int) { out = append(out, v.seats[i].last.Endpoint) }
	n := len(v.seats)
	switch t.Mode {
	case kv.LeaderOnly:
		if v.leader < 0 {
			return nil, fmt.Errorf("target leader: none of the %d members is leader", n)
		}
		add(v.leader)
	case kv.Followers:
		for _, i := range v.Followers() {
			add(i)
		}
		if len(out) == 0 {
			return nil, errors.New("target followers: the cluster has no follower that responds")
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
			return nil, fmt.Errorf("target %v: the cluster lists no members", t)
		case len(out) == 0:
			return nil, fmt.Errorf("target %v: none of the %d members has a vote", t, n)
		}
	}
	return out, nil
}
