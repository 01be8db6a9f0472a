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
	ownShift      = candidateBits + 4
)

// candidateOf returns the candidate that makes an operation, or none if no candidate has been
// chosen yet.
func (s *source) candidateOf(n uint64) int {
	if n&promptMark != 0 {
		return int(n & (1<<candidateBits - 1)) // #nosec G115 -- within bounds
	}
	e := s.schedule.Entries[n]
	if e.Call == Resign {
		return int(s.resigns[n])
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

// planRenew is a scheduled renewal of a session. No candidate waits for such a renewal.
const planRenew = NumCalls

// planned reports whether an operation is a scheduled renewal (planRenew).
func planned(n uint64) bool {
	return n&promptMark != 0 && Call(n>>candidateBits&0xf) == planRenew
}

// reference encodes an operation's candidate and call.
func reference(c int, call Call) uint64 {
	return uint64(c) | uint64(call)<<candidateBits // #nosec G115 -- at most maxCandidates
}

// Prompt implements engine.Reactive.
func (s *source) Prompt(now int64) (n uint64, due int64, ok bool) {
	s.now = now
	s.dieAndReturn()
	if c, due, ok := s.beats.next(now, s.candidates); ok {
		s.calls[Renew].Due++
		return s.newNumber(int(c), planRenew), due, true
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
	s.prompted++
	return promptMark | s.prompted<<ownShift&(promptMark-1) | reference(c, call)
}

// NextPrompt implements engine.Reactive.
func (s *source) NextPrompt() int64 {
	return min(s.todo.nextTime(s.now, s.candidates), s.beats.nextTime(), s.deaths.next(s.candidates))
}

// Place implements engine.Reactive: each candidate has its own connection.
func (s *source) Place(n uint64) int {
	if c := s.candidateOf(n); c != none {
		if s.way.Watches && s.callOf(n) == Await {
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
	if s.resigns[n] != none {
		return true
	}
	leader := s.offices[e.Index].leader
	if leader == none || s.candidates[leader].busy {
		return false
	}
	s.resigns[n] = leader
	k := &s.candidates[leader]
	k.call, k.busy, k.owes = Resign, true, s.schedule.Due[n]
	return true
}

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	c := s.candidateOf(n)
	k, call := &s.candidates[c], s.callOf(n)
	made := call
	k.entered = k.entered || call != Renew
	shape := &s.way.Shapes[call]
	*op = store.Op{Kind: shape.Kind, Consistency: shape.Level, Call: &s.call}
	switch {
	case planned(n):
		s.renew(c, op)
		return reference(c, planRenew)
	case call == Renew:
		s.renew(c, op)
		return reference(c, call)
	case s.needsLease(c, call): // the lease ended while the call was waiting, or was never requested
		k.call, made = Renew, Renew
		s.renew(c, op)
	default:
		s.recipe.fill(s, c, call, op)
	}
	k.lost, k.sent = false, s.now
	if s.records != nil && !planned(n) {
		k.asks = s.stateOf(c)
	}
	switch {
	// The planned resignation is sent now, or is no longer needed.
	case k.owes > 0 && (call == Resign || !s.isLeader(c)):
		s.beginHandover(c, k.owes)
	case call != Resign:
	default:
		s.stepDown(c, false, k.due)
	}
	k.owes = 0 // a leader that stands instead of resigning stays in office
	return reference(c, made)
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
	return app.SharesOf(s.way.Shapes[:], parts[:])
}

// Check implements engine.Source. It lets the candidate act on the response.
func (s *source) Check(_ kv.Kind, ref uint64, ev *store.Event) kv.Outcome {
	c, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- encoded by Fill
	k := &s.candidates[c]
	if call == Renew || call == planRenew {
		return s.handleRenewal(c, ev, call == planRenew)
	}
	k.busy = false
	if s.leases == nil && s.life > 0 { // every request keeps the session alive
		s.lives[c] = max(s.lives[c], k.sent+s.life)
		if s.way.Shapes[call].Kind.Writes() {
			k.wrote = k.sent
		}
	}
	outcome := s.recipe.handleResponse(s, c, call, ev)
	s.judged = outcome.Failed()
	k.watches = k.watches && !k.lost
	if (k.news || k.lost) && !k.busy {
		s.recipe.handleChange(s.Script, c, true)
	}
	k.news, k.lost = false, false
	return outcome
}

// Failed implements engine.Reactive. The candidate tries again after a pause. After a wrong
// response, however, Check has already chosen the next call.
func (s *source) Failed(n uint64) {
	if s.judged {
		s.judged = false
		return
	}
	c := s.candidateOf(n)
	if c == none || planned(n) {
		return // Ended handles a lease that has ended
	}
	if k := &s.candidates[c]; k.busy {
		s.want(c, s.recipe.retryCall(s.Script, c, k.call), true)
	}
}

// Ended implements engine.Reactive.
func (s *source) Ended(n uint64, o kv.Outcome, response, service int64) {
	s.ended(n, o, response, service)
	if c := s.candidateOf(n); c != none {
		s.kill(s.officeOf(c))
	}
}

func (s *source) ended(n uint64, o kv.Outcome, response, service int64) {
	call := s.callOf(n)
	calls := &s.calls[call]
	calls.Ended(o, response, service)
	if call == Renew {
		if o.Failed() {
			s.renewing[s.candidateOf(n)] = 0
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
		case of.died:
			calls.SpannedByFailovers++
		// Calls after the unplanned loss of a leader do not belong to a handover.
		case of.planned || !of.vacant:
			calls.Spanned++
		}
		k.settled = k.settled || !k.busy
	}
	if s.won == none {
		return
	}
	due := s.wonDue
	if n&promptMark == 0 {
		due = s.schedule.Due[n]
	}
	s.countVacancy(s.won, due+response)
	s.won = none
}

// Notified implements engine.Reactive.
func (s *source) Notified(ev *store.Event) {
	c := int(ev.Watcher)
	if c >= len(s.candidates) || ev.What == store.Seen {
		return
	}
	k := &s.candidates[c]
	if ev.What == store.Ended {
		k.watches = false
	}
	if k.dead {
		return
	}
	if ev.What != store.Ended && s.leases != nil && (ev.Version != 0 && !s.way.Watches || len(ev.Before) > 0) {
		return // the watch event shows that the key still exists, or that a client still holds the lock
	}
	if k.busy {
		k.news = true
		return
	}
	if ev.What == store.Ended {
		if !s.isLeader(c) {
			s.want(c, s.recipe.retryCall(s.Script, c, Await), false)
		}
		return
	}
	s.recipe.handleChange(s.Script, c, ev.Version == 0 || s.way.Watches)
}

// patience limits the wait, after the window, until each office has a leader.
const patience = int64(10 * time.Second)

// Awaits implements engine.Reactive.
func (s *source) Awaits(now int64) bool {
	if s.till == 0 {
		s.till = now + patience
	}
	if now >= s.till {
		return false
	}
	for i := range s.offices {
		if s.offices[i].leader == none {
			return true
		}
	}
	return false
}

// Lost implements engine.Reactive. If a leader's session belongs to the lost connection, the leader
// no longer knows whether it is still leader. A leader with a lease remains leader until the lease
// expires. A waiting candidate has lost its watch. A candidate that no longer knows its state
// starts over.
func (s *source) Lost(place int) {
	c := place
	if s.records != nil {
		s.records.loseConnection(place)
	}
	switch {
	// The lost connection is the candidate's second one, on which it waits for changes. Without
	// this connection, a leader cannot see whether it still holds the lock.
	case place >= s.CandidateCount():
		c -= s.CandidateCount()
		if s.isLeader(c) {
			s.stepDown(c, false, s.now)
			if k := &s.candidates[c]; !k.busy {
				k.watches = false
				s.want(c, Look, false)
				return
			}
		}
	case s.way.Watches: // the candidate waits on its other connection, which is not lost
		return
	case s.leases == nil:
		s.stepDown(c, false, s.now)
	}
	k := &s.candidates[c]
	if k.dead {
		k.watches = false
		if o := s.officeOf(c); int(o.dead) == c && s.now < o.until {
			o.cut = true
		}
		return
	}
	s.broke = s.now
	k.lost = k.busy // if this call sets a watch, the watch is lost, even if the response still arrives
	if k.watches = false; k.entered && !k.busy && !s.isLeader(c) {
		s.want(c, s.recipe.retryCall(s.Script, c, Await), false)
	}
}

// Expired implements engine.Reactive.
func (s *source) Expired(place int) {
	if place < s.CandidateCount() {
		if s.records != nil {
			s.records.expireSession(place)
		}
		s.recipe.handleExpiry(s.Script, place)
	}
}

// recipe defines how candidates use a store. As soon as a method knows a candidate's next call, it
// sets this call with Script.want.
type recipe interface {
	// fill creates a candidate's call.
	fill(s *source, c int, call Call, op *store.Op)
	// handleResponse handles the response to a candidate's call. It returns the outcome of the
	// call.
	handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome
	// handleChange handles a change to the key that a candidate watches. The parameter `gone` is
	// true if the key was or may have been deleted. For example, in a race, a candidate makes a
	// Stand when the leader's key was deleted.
	handleChange(s *Script, c int, gone bool)
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
		s.written++
		run += s.written
	}
	s.value = AppendCandidate(s.value[:0], c, run)
	return call.Value{Size: len(s.value), Text: s.value}
}

// isName reports whether a value is the candidate's name in this run.
func (s *source) isName(c int, value []byte) bool {
	of, run, ok := ParseCandidate(value)
	return ok && of == c && run == s.run
}

// await creates a call for a candidate that reads the source's key from the contacted member and
// sets a one-shot watch on it.
func (s *source) await(c int, op *store.Op) {
	s.setCall(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	s.parts[1] = call.Part{Action: call.Watch, Key: s.key}
	s.call.Parts = s.parts[:2]
	s.watch = store.WatchOp{Watcher: uint32(c)} // #nosec G115 -- at most maxCandidates
	op.Watch = &s.watch
}

// outcomeOf returns the outcome of a response that made a candidate the leader. If `wrong` is not
// nil, the outcome is a wrong response with this text.
func outcomeOf(ev *store.Event, wrong []byte) kv.Outcome {
	if wrong != nil {
		ev.Text = wrong
		return kv.WrongAnswer
	}
	return ev.Outcome
}
