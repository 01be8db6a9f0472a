package election

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Script is a load of elections. It implements app.Script and app.Model.
type Script struct {
	app.ScriptBase
	app.ModelBase
	Config
	schedule *Schedule
	way      *Way
	recipe   recipe
	prefix   string
	calls    app.Tally
	// handover is the time from when a leader was due to resign until the next leader learns that
	// it is leader. vacant ends at the same time as handover. It starts when the old leader ceased
	// to be leader, either because it sent its resignation or for another reason.
	handover, vacant measure.Calls
	deaths           leaderDeaths

	candidates  []candidate
	leases      []int64 // by candidate; nil if sessions belong to connections
	renewalSent []int64 // by candidate: when the oldest unanswered renewal was sent; 0: none
	aliveUntil  []int64 // by candidate: its session is alive at least until this time; 0: unknown
	sessionTTL  int64   // TTL of an unrenewed session or lease; 0: the connection renews the session
	renewals    renewalSchedule
	offices     []office
	// By entry of the schedule: the candidate that resigns, or none if no candidate has been chosen
	// yet.
	resigningCandidate []int32
	todo               todo

	now       int64 // nanoseconds since the window opened
	newLeader int   // the candidate that the current response made leader, or none
	// The leader that `newLeader` replaced, if that leader was certainly still leader; otherwise
	// none.
	replacedLeader     int
	newLeaderCallDue   int64  // when the call to which the current response belongs was due
	leaderWaitEnd      int64  // when the wait for the last handovers ends; 0: the wait has not begun
	lastConnectionLoss int64  // when the connection of a living candidate was last lost
	wrongResponses     uint64 // responses that implied a second leader or contained a fencing token that is too low
	responseWrong      bool   // the current response was wrong
	run                uint32 // a random number that distinguishes names in this run from names in earlier runs

	promptCount  uint64     // number of prompted calls
	namesWritten uint32     // number of names written, if each name identifies its write
	chronicle    *chronicle // nil if the responses are not verified
	readBack     *readBack  // lists the offices after the load; nil if they are not listed
}

// none means that there is no candidate.
const none = -1

// candidate holds a candidate's state. Most of the state comes from responses that the candidate
// received.
type candidate struct {
	call               Call   // the call that is due or in flight
	busy               bool   // a call is due or in flight
	hasCalled          bool   // it has made its first call
	settled            bool   // it has been leader or has waited since its first call
	queued             bool   // it is in Script.todo
	connectionLost     bool   // its connection was lost or replaced while a call was in flight
	nodeMissing        bool   // the node that it wanted to watch did not exist
	changePending      bool   // an event arrived while a call was in flight
	due                int64  // when its next call becomes due
	ownNumber          int64  // its number in the queue, or its token as lock holder; 0: none
	precedingNumber    int64  // number of the preceding candidate in the queue
	precedingCandidate int32  // the preceding candidate
	precedingRun       uint32 // the run in which the preceding candidate's node was created
	watchStart         int64  // the revision at which its watch starts
	hasWatcher         bool   // it has a watcher
	callAfterWatcher   Call   // the call to make when its watcher has ended; Drop: none
	dead               bool   // it sends nothing and ignores responses and events
	callSent           int64  // when its call was sent
	lastWriteSent      int64  // when its newest acknowledged write was sent
	resignationDue     int64  // when its planned resignation became due; 0: none is planned, or it has been sent
	// The state in which the current or latest call was made, if a history is recorded.
	stateAtCall callState
}

// callState holds the state in which a call was made. By the time the call ends, the candidate may
// have a newer state.
type callState struct {
	lease, ownNumber, precedingNumber, watchStart int64
	wasLeader                                     bool
	precedingRun                                  uint32 // the run of the candidate whose node it watches
	// The number of the name that the call writes. Names are numbered in the order in which they
	// are written.
	nameNumber uint32
}

func (s *Script) captureState(c int) callState {
	k := &s.candidates[c]
	a := callState{ownNumber: k.ownNumber, precedingNumber: k.precedingNumber, watchStart: k.watchStart, wasLeader: s.isLeader(c), precedingRun: k.precedingRun, nameNumber: s.namesWritten}
	if s.leases != nil {
		a.lease = s.leases[c]
	}
	return a
}

// office holds what the candidates for an office have learned, taken together.
type office struct {
	leader      int32 // the candidate that believes it is leader, or none
	tokenHolder int32 // the candidate that became leader with the token in the field `token`
	token       int64 // the highest fencing token with which a candidate became leader
	vacant      bool  // the office has lost its leader and has no new leader yet
	planned     bool  // the office is vacant because a planned resignation was due
	lossDue     int64 // when the resignation or death was due
	vacantSince int64 // when the previous leader ceased to be leader

	leaderDied         bool  // the office is vacant because its leader died
	deadLeader         int32 // the dead leader
	sessionAliveUntil  int64 // the dead leader's session is alive at least until this time; 0: unknown
	deadConnectionLost bool  // the dead leader's connection was lost before sessionAliveUntil
	deathDue           int64 // when the pending death became due; 0: no death is pending
}

func (s *Script) officeOf(c int) *office { return &s.offices[c/s.Candidates] }

// setNextCall sets the candidate's next call. The call is due now, or after a pause if `later` is
// set.
func (s *Script) setNextCall(c int, call Call, later bool) {
	k := &s.candidates[c]
	k.call, k.busy, k.due = call, true, s.now
	if later {
		k.due += int64(s.way.RetryPause)
	}
	if k.queued {
		return
	}
	k.queued = true
	s.todo.add(int32(c), later) // #nosec G115 -- at most maxCandidates
}

// noToken is used as the token if the response that makes a candidate leader contains no token.
const noToken = -1

// checkToken checks a leader's token. The token must be higher than every earlier token for the
// office, or equal to the leader's own earlier token. If the token is too low, checkToken returns
// the text for a wrong response. Otherwise it returns nil.
func (s *Script) checkToken(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	if token <= o.token && (token < o.token || int(o.tokenHolder) != c) {
		return lowTokenText
	}
	o.token, o.tokenHolder = token, int32(c) // #nosec G115 -- at most maxCandidates
	return nil
}

// becomeLeader records that a candidate learned from the current response that it is leader. The
// parameter `token` is the fencing token with which the store numbers its leaders. If the response
// is wrong, becomeLeader returns the text for a wrong response. Otherwise it returns nil. The
// response is wrong in three cases: another candidate is leader, has not resigned, and cannot have
// lost its connection, session or lease; the previous leader died, and its session must still be
// alive; or the token is too low (see checkToken).
//
// If the candidate's own lease, and therefore its key, may have expired in the meantime,
// becomeLeader ignores the response. The candidate then renews its lease and stands for election
// again.
func (s *Script) becomeLeader(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	hasOtherLeader := o.leader >= 0 && int(o.leader) != c
	if s.leases != nil {
		if lives := s.aliveUntil[c]; s.leases[c] == 0 || lives < s.now && (lives != 0 || hasOtherLeader && s.aliveUntil[o.leader] >= s.now) {
			s.setNextCall(c, Renew, false)
			return nil
		}
	}
	s.doubtSession(o)
	if hasOtherLeader && !s.sessionMustBeAlive(int(o.leader)) {
		s.recheckLeader(o)
		hasOtherLeader = false
	}
	switch {
	case o.vacant && o.leaderDied && s.now < o.sessionAliveUntil:
		wrong = deadSessionAliveText
	case hasOtherLeader && s.leases != nil && s.aliveUntil[o.leader] < s.now:
		s.expireLeader(o)
	case hasOtherLeader:
		wrong, s.replacedLeader = twoLeadersText, int(o.leader)
	case token != noToken:
		wrong = s.checkToken(c, token)
	}
	if wrong != nil {
		s.wrongResponses++
	}
	o.leader = int32(c) // #nosec G115 -- at most maxCandidates
	s.newLeader, s.newLeaderCallDue = c, s.candidates[c].due
	return wrong
}

var (
	twoLeadersText       = []byte("the store named a new leader of an office before the previous leader resigned")
	deadSessionAliveText = []byte("the store named a new leader of an office before the session of the dead leader could have expired")
	lowTokenText         = []byte("the fencing token of a new leader is not higher than the token of an earlier leader")
)

// stepDown records that a candidate is no longer leader, because it resigns or has lost its
// connection or lease. It does nothing if the candidate was not leader. The parameter `due` is the
// time at which the resignation was due, or the time of the loss.
func (s *Script) stepDown(c int, planned bool, due int64) {
	o := s.officeOf(c)
	if int(o.leader) != c {
		return
	}
	o.vacate(planned, due, s.now)
	s.vacant.Due++
}

// vacate records that an office has no leader as of now, because its leader resigned, died or was
// lost. The parameter `due` is the time at which the resignation or death was due, or the time of
// the loss.
func (o *office) vacate(planned bool, due, now int64) {
	o.leader, o.vacant, o.planned, o.leaderDied, o.deadConnectionLost, o.lossDue, o.vacantSince = none, true, planned, false, false, due, now
}

// expireLeader records that a leader's lease may have expired. The office then counts as vacant
// since the earliest time at which the lease could have ended. If that time is unknown, the vacancy
// is not counted.
func (s *Script) expireLeader(o *office) {
	old := int(o.leader)
	if s.aliveUntil[old] == 0 {
		o.leader = none
		return
	}
	s.stepDown(old, false, s.now)
	o.vacantSince = s.aliveUntil[old]
}

// sessionMustBeAlive reports whether the session of a candidate whose connection is not lost must
// still be alive. A member that is cut off from the others continues to respond to pings until it
// drops its clients (Way.IsolatedReplyTime). The session's timeout, however, runs from the latest
// ping that the other members learned of. If the timeout minus the interval between pings is at
// least Way.IsolatedReplyTime, the session cannot have expired. Otherwise the session is certain to
// be alive only until the timeout has passed since the candidate's latest acknowledged write, which
// a majority of the members knows.
func (s *Script) sessionMustBeAlive(c int) bool {
	if s.leases != nil || s.sessionTTL == 0 {
		return true
	}
	heard, alone := s.sessionTTL-s.renewals.interval, int64(s.way.IsolatedReplyTime)
	return heard >= alone || s.now < s.candidates[c].lastWriteSent+heard-int64(time.Second)
}

// recheckLeader records that a leader's session may have ended without the leader's knowledge. It
// makes the leader check whether it is still leader.
func (s *Script) recheckLeader(o *office) {
	old := int(o.leader)
	o.leader = none
	if !s.candidates[old].busy {
		s.setNextCall(old, s.recipe.retryCall(s, old, Await), false)
	}
}

// beginHandover records that a planned resignation is about to be sent. If the leader lost the
// office after the resignation became due, the handover ends with the election of the next leader.
// If the next leader is already elected, the handover ends now.
func (s *Script) beginHandover(c int, due int64) {
	o := s.officeOf(c)
	switch {
	case int(o.leader) == c:
		s.stepDown(c, true, due)
	case o.vacant && !o.planned && !o.leaderDied:
		o.planned, o.lossDue = true, due
	default:
		s.handover.CountEnded(kv.OK, max(s.now-due, 0), 0)
	}
}

// countVacancy counts the time for which the office had no leader. This time ends when the new
// leader c learned that it is leader.
func (s *Script) countVacancy(c int, at int64) {
	o := s.officeOf(c)
	if !o.vacant {
		return
	}
	o.vacant = false
	without := max(at-o.vacantSince, 0)
	if o.leaderDied {
		s.endFailover(o, at, without)
		return
	}
	s.vacant.CountEnded(kv.OK, without, without)
	if o.planned {
		s.handover.CountEnded(kv.OK, max(at-o.lossDue, 0), without)
	}
}

// isLeader reports whether a candidate believes that it is leader.
func (s *Script) isLeader(c int) bool { return int(s.officeOf(c).leader) == c }
