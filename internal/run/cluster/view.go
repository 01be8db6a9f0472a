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

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds of changes.
const (
	LeaderElected ChangeKind = iota // a member is the new leader, or the first known leader
	MemberLost                      // a member exited or has not responded for LostAfter
	MemberBack                      // a lost member responds again
	LeaderRenewed                   // a follower that did not respond during the last election responds again
)

// Change is a change of a member's state. It follows from a response of a member, or from a missing
// response.
type Change struct {
	Kind   ChangeKind
	Member int // index of the member
	// Term is the term in which the member is leader. If the members report no terms, the periods
	// of leadership are numbered from 1. PreviousTerm is the previous term, or 0 if no leader was
	// known.
	Term, PreviousTerm uint64
	// At is the time at which the change was detected. For a lost member, it is the time at which
	// the first unanswered request was sent.
	At time.Time
	// Since is set only for LeaderElected. It is the send time of the last request whose response
	// named the previous leader. It is zero if no leader was known.
	Since time.Time
	Err   error // reason why the member is lost
}

// View is the known state of a cluster's members. It is derived only from their responses. It is
// not safe for concurrent use.
type View struct {
	memberStates []memberState
	leader       int    // index of the leader, or -1 if unknown
	term         uint64 // the highest term whose leader is known, or 0 if members report no terms
	// leadershipNumber is the term. If members report no terms, it is the number of the period of
	// leadership.
	leadershipNumber uint64
	// confirmed is the send time of the last request whose response named the current leader.
	confirmed time.Time
}

// memberState is the state of one member.
type memberState struct {
	lastResponse   store.Member // last response, with missing fields taken from earlier responses
	hasResponded   bool         // whether the member has ever responded
	silentSince    time.Time    // send time of the first unanswered request since the last response; zero if there is none
	lost           bool
	missedElection bool  // whether the member did not respond when the current leader was elected, and still does not respond
	err            error // error of the last request
}

// NewView returns a View of n members whose states are unknown.
func NewView(n int) *View { return &View{memberStates: make([]memberState, n), leader: -1} }

// Update records a response of member i, and returns the changes that follow from it. sent and done
// are the times at which the request was sent and answered. The responses of each member must be
// passed in the order of the requests.
func (v *View) Update(i int, sent, done time.Time, m store.Member) []Change {
	if m.Err != nil {
		return v.unanswered(i, sent, done, m)
	}
	var out []Change
	s := &v.memberStates[i]
	s.recordResponse(m)
	if s.lost {
		out = append(out, Change{Kind: MemberBack, Member: i, At: done})
	}
	renewed := s.missedElection
	s.hasResponded, s.silentSince, s.lost, s.missedElection, s.err = true, time.Time{}, false, false, nil
	if led, ok := v.detectLeader(i, sent, done); ok {
		return append(out, led)
	}
	if renewed {
		out = append(out, Change{Kind: LeaderRenewed, Member: i, Term: v.leadershipNumber, At: done})
	}
	return out
}

func (v *View) unanswered(i int, sent, done time.Time, m store.Member) []Change {
	s := &v.memberStates[i]
	s.err = m.Err
	s.lastResponse.Endpoint, s.lastResponse.Name = cmp.Or(m.Endpoint, s.lastResponse.Endpoint), cmp.Or(m.Name, s.lastResponse.Name)
	if s.silentSince.IsZero() {
		s.silentSince = sent
	}
	if s.lost || !m.ProcessEnded && done.Sub(s.silentSince) < LostAfter {
		return nil
	}
	s.lost = true
	return []Change{{Kind: MemberLost, Member: i, At: s.silentSince, Err: m.Err}}
}

// recordResponse records a response. A field that the response lacks keeps its earlier value,
// because most requests ask only for a member's role.
func (s *memberState) recordResponse(m store.Member) {
	previous := s.lastResponse
	s.lastResponse = m
	s.lastResponse.Endpoint = cmp.Or(m.Endpoint, previous.Endpoint)
	s.lastResponse.ID = cmp.Or(m.ID, previous.ID)
	s.lastResponse.Name = cmp.Or(m.Name, previous.Name)
	s.lastResponse.Version = cmp.Or(m.Version, previous.Version)
	s.lastResponse.DBSize, s.lastResponse.QuotaRemaining = cmp.Or(m.DBSize, previous.DBSize), cmp.Or(m.QuotaRemaining, previous.QuotaRemaining)
	if m.Alarms == nil {
		s.lastResponse.Alarms = previous.Alarms
	}
}

// detectLeader checks whether member i's last response names a new leader.
func (v *View) detectLeader(i int, sent, done time.Time) (Change, bool) {
	m := &v.memberStates[i].lastResponse
	leader := -1
	switch {
	case m.Role == kv.Leader:
		leader = i
	case m.Leader != 0:
		leader = v.indexOfID(m.Leader)
	}
	if leader >= 0 && leader == v.leader && m.Term == v.term {
		v.confirmed = sent
	}
	if leader < 0 || !v.replacesLeader(leader, m.Term) {
		return Change{}, false
	}
	c := Change{Kind: LeaderElected, Member: leader, PreviousTerm: v.leadershipNumber, At: done, Since: v.confirmed}
	v.leader, v.term, v.confirmed = leader, m.Term, sent
	if v.leadershipNumber++; m.Term > 0 {
		v.leadershipNumber = m.Term
	}
	c.Term = v.leadershipNumber
	for k := range v.memberStates {
		v.memberStates[k].missedElection = v.memberStates[k].missedElection || k != leader && !v.memberStates[k].silentSince.IsZero()
	}
	v.memberStates[leader].missedElection = false
	return c, true
}

// replacesLeader reports whether a member replaces the known leader, if a response names this
// member as leader in the given term. A term has at most one leader, so a response about an earlier
// term is outdated. For example, a leader that was suspended while another leader was elected still
// reports that it is leader. If members report no terms, a leader remains leader until it reports
// another role or does not respond.
func (v *View) replacesLeader(leader int, term uint64) bool {
	switch {
	case v.leader < 0:
		return true
	case term > 0 || v.term > 0:
		return term > v.term
	}
	now := &v.memberStates[v.leader]
	return leader != v.leader && (now.lastResponse.Role != kv.Leader || !now.silentSince.IsZero())
}

// indexOfID returns the index of the member with the given ID. It returns -1 if no member with this
// ID has responded yet.
func (v *View) indexOfID(id uint64) int {
	for i := range v.memberStates {
		if v.memberStates[i].hasResponded && v.memberStates[i].lastResponse.ID == id {
			return i
		}
	}
	return -1
}

// Leader returns the index and the term of the leader. The index is -1 if no leader is known.
func (v *View) Leader() (i int, term uint64) { return v.leader, v.leadershipNumber }

// Followers returns the voting members other than the leader, for a load whose target is the
// followers. A member that did not respond while the leader was elected is omitted until it
// responds, unless all followers would be omitted.
func (v *View) Followers() []int {
	var in, all []int
	for i := range v.memberStates {
		if v.leader < 0 || i == v.leader || v.memberStates[i].lastResponse.Role == kv.NonVoter {
			continue
		}
		all = append(all, i)
		if !v.memberStates[i].missedElection {
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
	out := make([]store.Member, len(v.memberStates))
	for i := range v.memberStates {
		s := &v.memberStates[i]
		if out[i] = s.lastResponse; s.lost || !s.hasResponded {
			out[i].Err = s.err
		}
	}
	return out
}

// Endpoints returns the current endpoints for a target other than kv.AnyEndpoint. If voting is set,
// kv.AllMembers omits members without a vote.
func (v *View) Endpoints(t kv.Target, voting bool) ([]string, error) {
	var out []string
	add := func(i int) { out = append(out, v.memberStates[i].lastResponse.Endpoint) }
	n := len(v.memberStates)
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
	case kv.SingleMember:
		if t.Member < 1 || t.Member > n {
			return nil, fmt.Errorf("target %v: the cluster has %d members", t, n)
		}
		add(t.Member - 1)
	default:
		for i := range v.memberStates {
			if !voting || v.memberStates[i].lastResponse.Role != kv.NonVoter {
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
