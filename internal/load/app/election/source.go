package election

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// source creates the calls. Each call reuses the memory of the previous one.
type source struct {
	engine.ReactiveBase
	*Script
	call       call.Call
	parts      [3]call.Part
	watch      store.WatchOp
	names      store.RangeOp
	key, value []byte
	id         []byte // name of a session
}

var _ engine.Reactive = (*source)(nil)

// The number of an operation in the schedule is its index. The number of a prompted operation
// consists of promptMark, a sequence number, the call, and the candidate.
const (
	promptMark    = 1 << 62
	candidateBits = 20
	sequenceShift = candidateBits + 4
)

// candidateOf returns the candidate that makes an operation, or none if no candidate has been
// chosen yet.
func (s *source) candidateOf(n uint64) int {
	if n&promptMark != 0 {
		return int(n & (1<<candidateBits - 1)) // #nosec G115 -- within bounds
	}
	e := s.schedule.Entries[n]
	if e.Call == Resign {
		return int(s.resigningCandidate[n])
	}
	return int(e.Index)
}

// callOf returns the call that an operation makes.
func (s *source) callOf(n uint64) Call {
	if n&promptMark != 0 {
		return min(Call(n>>candidateBits&0xf), Renew)
	}
	return s.schedule.Entries[n].Call
}

// plannedRenewal is a scheduled renewal of a session. No candidate waits for such a renewal.
const plannedRenewal = NumCalls

// isPlannedRenewal reports whether an operation is a scheduled renewal (see plannedRenewal).
func isPlannedRenewal(n uint64) bool {
	return n&promptMark != 0 && Call(n>>candidateBits&0xf) == plannedRenewal
}

// encodeReference encodes an operation's candidate and call.
func encodeReference(c int, call Call) uint64 {
	return uint64(c) | uint64(call)<<candidateBits // #nosec G115 -- at most maxCandidates
}

// Prompt implements engine.Reactive.
func (s *source) Prompt(now int64) (n uint64, due int64, ok bool) {
	s.now = now
	s.dieAndReturn()
	if c, due, ok := s.renewals.next(now, s.candidates); ok {
		s.calls[Renew].Due++
		return s.newNumber(int(c), plannedRenewal), due, true
	}
	c, ok := s.todo.next(now, s.candidates)
	if !ok {
		return 0, 0, false
	}
	k := &s.candidates[c]
	if s.needsLease(int(c), k.call) {
		k.call = Renew
	}
	s.calls[k.call].Due++
	return s.newNumber(int(c), k.call), k.due, true
}

// newNumber returns an unused number for a prompted operation.
func (s *source) newNumber(c int, call Call) uint64 {
	s.promptCount++
	return promptMark | s.promptCount<<sequenceShift&(promptMark-1) | encodeReference(c, call)
}

// NextPrompt implements engine.Reactive.
func (s *source) NextPrompt() int64 {
	return min(s.todo.nextTime(s.now, s.candidates), s.renewals.nextTime(), s.deaths.nextTime(s.candidates))
}

// ConnectionIndex implements engine.Reactive: each candidate has its own connection.
func (s *source) ConnectionIndex(n uint64) int {
	if c := s.candidateOf(n); c != none {
		if s.way.WatchesSeparately && s.callOf(n) == Await {
			return s.CandidateCount() + c
		}
		return c
	}
	return int(s.offices[s.schedule.Entries[n].Index].leader)
}

// Ready implements engine.Reactive. A resignation waits until its office has a leader that has no
// call in flight.
func (s *source) Ready(n uint64) bool {
	if n&promptMark != 0 {
		return true
	}
	e := s.schedule.Entries[n]
	if e.Call == Stand {
		s.candidates[e.Index].call, s.candidates[e.Index].busy = e.Call, true
		return true
	}
	if s.resigningCandidate[n] != none {
		return true
	}
	leader := s.offices[e.Index].leader
	if leader == none || s.candidates[leader].busy {
		return false
	}
	s.resigningCandidate[n] = leader
	k := &s.candidates[leader]
	k.call, k.busy, k.resignationDue = Resign, true, s.schedule.Due[n]
	return true
}

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	c := s.candidateOf(n)
	k, call := &s.candidates[c], s.callOf(n)
	callMade := call
	k.hasCalled = k.hasCalled || call != Renew
	shape := &s.way.Shapes[call]
	*op = store.Op{Kind: shape.Kind, Consistency: shape.Level, Call: &s.call}
	switch {
	case isPlannedRenewal(n):
		s.setRenewCall(c, op)
		return encodeReference(c, plannedRenewal)
	case call == Renew:
		s.setRenewCall(c, op)
		return encodeReference(c, call)
	case s.needsLease(c, call): // the lease ended while the call was waiting, or was never requested
		k.call, callMade = Renew, Renew
		s.setRenewCall(c, op)
	default:
		s.recipe.fill(s, c, call, op)
	}
	k.connectionLost, k.callSent = false, s.now
	if s.chronicle != nil && !isPlannedRenewal(n) {
		k.stateAtCall = s.captureState(c)
	}
	switch {
	// The planned resignation is sent now, or is no longer needed.
	case k.resignationDue > 0 && (call == Resign || !s.isLeader(c)):
		s.beginHandover(c, k.resignationDue)
	case call != Resign:
	default:
		s.stepDown(c, false, k.due)
	}
	k.resignationDue = 0 // a leader whose call is not the resignation remains leader
	return encodeReference(c, callMade)
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	shape := &s.way.Shapes[s.callOf(n)]
	return shape.Kind, shape.Level
}

// Shares implements engine.Source. It returns the mean share of each call.
func (s *source) Shares(measure.Phase) []engine.Share {
	var parts [NumCalls]uint64
	for i, rate := range s.way.Rates(&s.Config) {
		parts[i] = uint64(rate*1e6 + 0.5)
	}
	return app.ComputeShares(s.way.Shapes[:], parts[:])
}

// Check implements engine.Source. It lets the candidate act on the response.
func (s *source) Check(_ kv.Kind, ref uint64, ev *store.Event) kv.Outcome {
	c, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- encoded by Fill
	k := &s.candidates[c]
	if call == Renew || call == plannedRenewal {
		return s.handleRenewal(c, ev, call == plannedRenewal)
	}
	k.busy = false
	if s.leases == nil && s.sessionTTL > 0 { // every request keeps the session alive
		s.aliveUntil[c] = max(s.aliveUntil[c], k.callSent+s.sessionTTL)
		if s.way.Shapes[call].Kind.Writes() {
			k.lastWriteSent = k.callSent
		}
	}
	outcome := s.recipe.handleResponse(s, c, call, ev)
	s.responseWrong = outcome.Failed()
	k.hasWatcher = k.hasWatcher && !k.connectionLost
	if (k.changePending || k.connectionLost) && !k.busy {
		s.recipe.handleChange(s.Script, c, true)
	}
	k.changePending, k.connectionLost = false, false
	return outcome
}

// OperationFailed implements engine.Reactive. The candidate tries again after a pause. After a
// wrong response, however, Check has already chosen the next call.
func (s *source) OperationFailed(n uint64) {
	if s.responseWrong {
		s.responseWrong = false
		return
	}
	c := s.candidateOf(n)
	if c == none || isPlannedRenewal(n) {
		return // OperationEnded handles a lease that has ended
	}
	if k := &s.candidates[c]; k.busy {
		s.setNextCall(c, s.recipe.retryCall(s.Script, c, k.call), true)
	}
}

// OperationEnded implements engine.Reactive.
func (s *source) OperationEnded(n uint64, o kv.Outcome, response, service int64) {
	s.recordEnd(n, o, response, service)
	if c := s.candidateOf(n); c != none {
		s.kill(s.officeOf(c))
	}
}

func (s *source) recordEnd(n uint64, o kv.Outcome, response, service int64) {
	call := s.callOf(n)
	calls := &s.calls[call]
	calls.CountEnded(o, response, service)
	if call == Renew {
		if o.Failed() {
			s.renewalSent[s.candidateOf(n)] = 0
		}
		if o == kv.BadRequest {
			s.loseLease(s.candidateOf(n))
		}
		return
	}
	if c := s.candidateOf(n); c != none {
		k := &s.candidates[c]
		of := s.officeOf(c)
		switch {
		case !k.settled || o.Failed():
		case of.leaderDied:
			calls.FailoverCalls++
		// Calls after the unplanned loss of a leader do not belong to a handover.
		case of.planned || !of.vacant:
			calls.HandoverCalls++
		}
		k.settled = k.settled || !k.busy
	}
	if s.newLeader == none {
		return
	}
	due := s.newLeaderCallDue
	if n&promptMark == 0 {
		due = s.schedule.Due[n]
	}
	s.countVacancy(s.newLeader, due+response)
	s.newLeader = none
}

// HandleWatchEvent implements engine.Reactive.
func (s *source) HandleWatchEvent(ev *store.Event) {
	c := int(ev.Watcher)
	if c >= len(s.candidates) || ev.Type == store.WatchProgress {
		return
	}
	k := &s.candidates[c]
	if ev.Type == store.WatchEnded {
		k.hasWatcher = false
	}
	if k.dead {
		return
	}
	if ev.Type != store.WatchEnded && s.leases != nil && (ev.Version != 0 && !s.way.WatchesSeparately || len(ev.PreviousValue) > 0) {
		return // the watch event shows that the key still exists, or that a client still holds the lock
	}
	if k.busy {
		k.changePending = true
		return
	}
	if ev.Type == store.WatchEnded {
		if !s.isLeader(c) {
			s.setNextCall(c, s.recipe.retryCall(s.Script, c, Await), false)
		}
		return
	}
	s.recipe.handleChange(s.Script, c, ev.Version == 0 || s.way.WatchesSeparately)
}

// maxLeaderWait limits how long the load waits, after the window, until each office has a leader.
const maxLeaderWait = int64(10 * time.Second)

// ExpectsMore implements engine.Reactive.
func (s *source) ExpectsMore(now int64) bool {
	if s.leaderWaitEnd == 0 {
		s.leaderWaitEnd = now + maxLeaderWait
	}
	if now >= s.leaderWaitEnd {
		return false
	}
	for i := range s.offices {
		if s.offices[i].leader == none {
			return true
		}
	}
	return false
}

// ConnectionLost implements engine.Reactive. If a leader's session belongs to the lost connection,
// the leader no longer knows whether it is still leader. A leader with a lease remains leader until
// the lease expires. A waiting candidate has lost its watch. A candidate that no longer knows its
// state starts over.
func (s *source) ConnectionLost(place int) {
	c := place
	if s.chronicle != nil {
		s.chronicle.loseConnection(place)
	}
	switch {
	// The lost connection is the candidate's second one, on which it waits for changes. Without
	// this connection, a leader cannot see whether it still holds the lock.
	case place >= s.CandidateCount():
		c -= s.CandidateCount()
		if s.isLeader(c) {
			s.stepDown(c, false, s.now)
			if k := &s.candidates[c]; !k.busy {
				k.hasWatcher = false
				s.setNextCall(c, Look, false)
				return
			}
		}
	case s.way.WatchesSeparately: // the candidate waits on its other connection, which is not lost
		return
	case s.leases == nil:
		s.stepDown(c, false, s.now)
	}
	k := &s.candidates[c]
	if k.dead {
		k.hasWatcher = false
		if o := s.officeOf(c); int(o.deadLeader) == c && s.now < o.sessionAliveUntil {
			o.deadConnectionLost = true
		}
		return
	}
	s.lastConnectionLoss = s.now
	k.connectionLost = k.busy // if this call sets a watch, the watch is lost, even if the response still arrives
	if k.hasWatcher = false; k.hasCalled && !k.busy && !s.isLeader(c) {
		s.setNextCall(c, s.recipe.retryCall(s.Script, c, Await), false)
	}
}

// SessionExpired implements engine.Reactive.
func (s *source) SessionExpired(place int) {
	if place < s.CandidateCount() {
		if s.chronicle != nil {
			s.chronicle.expireSession(place)
		}
		s.recipe.handleExpiry(s.Script, place)
	}
}

// recipe defines how candidates use a store. As soon as a method knows a candidate's next call, it
// sets this call with Script.setNextCall.
type recipe interface {
	// fill creates a candidate's call.
	fill(s *source, c int, call Call, op *store.Op)
	// handleResponse handles the response to a candidate's call. It returns the outcome of the
	// call.
	handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome
	// handleChange handles a change to the key that a candidate watches. The parameter `deleted` is
	// true if the key was or may have been deleted. For example, in a race, a candidate makes a
	// Stand when the leader's key was deleted.
	handleChange(s *Script, c int, deleted bool)
	// retryCall returns the call that a candidate makes next after a call has failed, or after the
	// candidate may have missed changes.
	retryCall(s *Script, c int, failed Call) Call
	// handleExpiry handles the end of a candidate's session.
	handleExpiry(s *Script, c int)
}

// setCall sets a call that consists of a single part.
func (s *source) setCall(p call.Part) {
	s.parts[0] = p
	s.call = call.Call{Parts: s.parts[:1]}
}

// setOfficeKey sets the source's key to the key of a candidate's office.
func (s *source) setOfficeKey(c int) { s.key = AppendOffice(s.key[:0], s.prefix, c/s.Candidates) }

// setName sets the source's value to a candidate's name and returns it. In a SessionRace, the
// leader is not identified by the value. Instead, each write has a different name, so that a value
// identifies the write.
func (s *source) setName(c int) call.Value {
	run := s.run
	if s.way.Recipe == SessionRace {
		s.namesWritten++
		run += s.namesWritten
	}
	s.value = AppendCandidate(s.value[:0], c, run)
	return call.Value{Size: len(s.value), Text: s.value}
}

// isName reports whether a value is the candidate's name in this run.
func (s *source) isName(c int, value []byte) bool {
	index, run, ok := ParseCandidate(value)
	return ok && index == c && run == s.run
}

// setAwaitCall creates a call for a candidate that reads the source's key from the contacted member
// and sets a one-shot watch on it.
func (s *source) setAwaitCall(c int, op *store.Op) {
	s.setCall(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	s.parts[1] = call.Part{Action: call.Watch, Key: s.key}
	s.call.Parts = s.parts[:2]
	s.watch = store.WatchOp{Watcher: uint32(c)} // #nosec G115 -- at most maxCandidates
	op.Watch = &s.watch
}

// outcomeWithText returns the outcome of a response that made a candidate the leader. If `wrong` is
// not nil, the outcome is a wrong response with this text.
func outcomeWithText(ev *store.Event, wrong []byte) kv.Outcome {
	if wrong != nil {
		ev.Text = wrong
		return kv.WrongResponse
	}
	return ev.Outcome
}
