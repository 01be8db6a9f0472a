package election

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// standing returns a load in which each candidate has stood for election. The result `resign` is
// the number of the first resignation, which is the next scheduled operation.
func standing(t *testing.T, app Application, way int) (s *scripted, resign uint64) {
	t.Helper()
	s = newScripted(t, app, way)
	for n, e := range s.schedule.Entries {
		if e.Call == Stand {
			s.run(uint64(n))
		}
	}
	for s.schedule.Entries[resign].Call != Resign {
		resign++
	}
	return s, resign
}

// expectCall fills the next operation, and checks that it is the given call by the given candidate.
func (s *scripted) expectCall(c int, want Call) (n, ref uint64) {
	s.t.Helper()
	s.now = max(s.now, s.NextPrompt())
	n, _, ok := s.Prompt(s.now)
	if !ok || s.candidateOf(n) != c || s.callOf(n) != want {
		s.t.Fatalf("the next operation is %x of candidate %d, want call %d of candidate %d", n, s.candidateOf(n), want, c)
	}
	return n, s.Fill(measure.Measured, n, 0, &s.op)
}

// expectNoCall fails the test if there is another operation to send.
func (s *scripted) expectNoCall() {
	s.t.Helper()
	if n, _, ok := s.Prompt(max(s.now, s.NextPrompt())); ok {
		s.t.Fatalf("the next operation is %x, call %d of candidate %d; want none", n, s.callOf(n), s.candidateOf(n))
	}
}

// In a race, a resignation that was still waiting when the connection was lost must not delete the
// node, because the node may belong to another candidate by then. The handover is still counted
// from when the resignation was due. If the office already has a new leader, the handover ends
// immediately.
func TestResignationAfterALostConnectionDeletesNothing(t *testing.T) {
	for _, filled := range []bool{false, true} {
		s, n := standing(t, Application{}, 0)
		if !s.Ready(n) {
			t.Fatal("the office has no leader")
		}
		c := s.candidateOf(n)
		s.ConnectionLost(c)
		o := s.officeOf(c)
		if filled {
			other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
			s.becomeLeader(other, 1<<40)
			s.countVacancy(other, s.now)
		}
		s.Fill(measure.Measured, n, 0, &s.op)
		if s.op.Call.Parts[0].Action != call.Read {
			t.Errorf("the call %+v is sent, want a read", s.op.Call)
		}
		if got := s.handover.Outcomes[kv.OK]; (got == 1) != filled || !filled && (!o.planned || o.lossDue != s.schedule.Due[n]) {
			t.Errorf("new leader: %v; %d handovers have ended, office %+v", filled, got, o)
		}
	}
}

// A candidate that has no lease requests one before any other call. It does not matter whether the
// candidate lost its lease before the call was due or while the call waited for the connection.
func TestCandidatesRequestALeaseFirst(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		s, _ := standing(t, app, 1)
		c := (int(s.offices[0].leader) + 1) % s.Candidates
		s.setNextCall(c, Stand, true)
		s.loseLease(c)
		_, ref := s.expectCall(c, Renew)
		if s.op.Call.Parts[0].Action != call.Grant {
			t.Errorf("the call %+v is sent, want a grant", s.op.Call)
		}
		s.Check(s.op.Kind, ref, &store.Event{Count: 70})
		n, _, _ := s.Prompt(s.now)
		s.loseLease(c)
		ref = s.Fill(measure.Measured, n, 0, &s.op)
		if s.callOf(n) != Stand || s.op.Call.Parts[0].Action != call.Grant {
			t.Errorf("%+v is sent as call %d", s.op.Call, s.callOf(n))
		}
		s.Check(s.op.Kind, ref, &store.Event{Count: 71})
		if s.expectCall(c, Stand); s.op.Call.Parts[1].Lease != 71 {
			t.Errorf("%+v is sent", s.op.Call)
		}
	}
	s := newScripted(t, Application{}, 1)
	c := int(s.schedule.Entries[0].Index)
	s.leases[c] = 0
	s.Ready(0)
	ref := s.Fill(measure.Measured, 0, 0, &s.op)
	s.Check(s.op.Kind, ref, &store.Event{Count: 70})
	if s.expectCall(c, Stand); s.op.Call.Parts[1].Lease != 70 {
		t.Errorf("the first call is %+v, want lease 70", s.op.Call)
	}
}

// Before the load reports a candidate as a second leader, the candidate renews its own lease in two
// cases: if this lease may have expired, or if its expiry time is unknown and the other leader's
// lease is valid. If the expiry time of the first leader's lease is unknown, the load does not
// report a second leader. If the first leader's lease has expired, the office counts as vacant from
// the end of that lease.
func TestCandidateRenewsItsOwnLeaseFirst(t *testing.T) {
	const at = int64(time.Minute)
	for _, test := range []struct {
		own, leaders int64
		first        Call
		wrong        bool
	}{
		{own: at - 1, leaders: at, first: Renew},
		{own: at - 1, leaders: at - 1, first: Renew},
		{own: 0, leaders: at, first: Renew},
		{own: at, leaders: at, wrong: true},
		{own: at, leaders: 0},
		{own: 0, leaders: 0},
		{own: at, leaders: at - 1},
	} {
		s, _ := standing(t, Application{}, 1)
		s.now, s.Script.now = at, at
		leader := int(s.offices[0].leader)
		c := (leader + 1) % s.Candidates
		s.aliveUntil[c], s.aliveUntil[leader] = test.own, test.leaders
		ev := store.Event{StoreRevision: 1 << 40}
		o := s.Check(kv.CAS, encodeReference(c, Stand), &ev)
		if (o == kv.WrongResponse) != test.wrong {
			t.Errorf("%+v: the outcome is %v", test, o)
		}
		if s.candidates[c].queued && s.candidates[c].call == Renew != (test.first == Renew) {
			t.Errorf("%+v: the next call is %d", test, s.candidates[c].call)
		}
		if led := s.isLeader(c); led != (test.first != Renew) {
			t.Errorf("%+v: the candidate leads: %v", test, led)
		}
		if of := &s.offices[0]; of.vacant != (test.leaders == at-1 && test.own == at) || of.vacant && of.vacantSince != at-1 {
			t.Errorf("%+v: the office is vacant: %v, since %d", test, of.vacant, of.vacantSince)
		}
	}
}

// After a wrong response, a candidate makes only one call. It also makes only one call if a
// scheduled renewal ends while the candidate waits for another renewal.
func TestCandidateMakesOneCallAtATime(t *testing.T) {
	s, _ := standing(t, Application{Queue: true}, 1)
	c := (int(s.offices[0].leader) + 1) % s.Candidates
	s.setNextCall(c, Look, false)
	n, ref := s.expectCall(c, Look)
	if o := s.Check(kv.Range, ref, &store.Event{Key: []byte("p/e000000/xyz")}); o != kv.WrongResponse {
		t.Fatalf("a reply with a foreign key is judged %v", o)
	}
	s.OperationFailed(n)
	s.OperationEnded(n, kv.WrongResponse, 1, 1)
	s.expectCall(c, Look)
	s.expectNoCall()
	s.OperationFailed(n) // fails the second Look: n identifies only the candidate
	s.loseLease(c)
	n, ref = s.expectCall(c, Renew)
	s.Check(kv.KeepAlive, encodeReference(c, plannedRenewal), &store.Event{Count: 70})
	s.expectNoCall()
	s.Check(kv.KeepAlive, ref, &store.Event{Count: 71})
	s.OperationEnded(n, kv.OK, 1, 1)
	s.expectCall(c, Stand)
	s.expectNoCall()
}

// A candidate treats a node from an earlier run like the node of another candidate.
func TestNodeOfAnEarlierRunIsNotTheCandidates(t *testing.T) {
	for way := range 2 {
		s, _ := standing(t, Application{}, way)
		c := int(s.offices[0].leader)
		name := AppendCandidate(nil, c, s.source.run+1)
		s.stepDown(c, false, s.now)
		s.setNextCall(c, Stand, false)
		_, ref := s.expectCall(c, Stand)
		s.Check(s.op.Kind, ref, &store.Event{Outcome: kv.Conflict, Value: name})
		if way == 0 {
			_, ref = s.expectCall(c, Await)
			s.Check(s.op.Kind, ref, &store.Event{Value: name})
		}
		if s.isLeader(c) {
			t.Errorf("way %d: the candidate leads with the node of an earlier run", way)
		}
	}
	s, _ := standing(t, Application{Queue: true}, 0)
	c := int(s.offices[0].leader)
	s.candidates[c].ownNumber = 5
	s.setNextCall(c, Look, false)
	_, ref := s.expectCall(c, Look)
	q := s.op.Range.Keys
	q.Begin(0)
	heard := func(run uint32, order int64) {
		s.setNodeKey(c, run, order)
		q.Add(0, s.key[len("p/e000000/"):], nil, 0)
	}
	heard(s.source.run+1, 3)
	heard(s.source.run, 5)
	s.Check(s.op.Kind, ref, &store.Event{})
	s.expectCall(c, Await)
	if want := string(AppendCandidate([]byte("p/e000000/"), c, s.source.run+1)) + latchInfix + "0000000002"; string(s.op.Call.Parts[0].Key) != want {
		t.Errorf("the candidate waits for %s, want %s", s.op.Call.Parts[0].Key, want)
	}
}

// If a call without a response created a node, that node is deleted. Otherwise the other
// candidates, or the candidate that created the node, would wait forever for its deletion.
func TestNodeOfAFailedCallIsDeleted(t *testing.T) {
	for _, order := range []int64{3, 9} {
		s, _ := standing(t, Application{Queue: true}, 0)
		c := int(s.offices[0].leader)
		s.candidates[c].ownNumber = 5
		s.setNextCall(c, Look, false)
		_, ref := s.expectCall(c, Look)
		q := s.op.Range.Keys
		q.Begin(0)
		for _, order := range []int64{order, 5} {
			s.setNodeKey(c, s.source.run, order)
			q.Add(0, s.key[len("p/e000000/"):], nil, 0)
		}
		s.Check(s.op.Kind, ref, &store.Event{})
		_, ref = s.expectCall(c, Drop)
		if got, _ := parseSequence(s.op.Call.Parts[0].Key); got != order || s.op.Call.Parts[0].Action != call.Remove {
			t.Errorf("%+v is sent", s.op.Call)
		}
		s.Check(s.op.Kind, ref, &store.Event{})
		s.expectCall(c, Look)
	}
}

// Calls for an office that does not exist are not repeated without a pause.
func TestCallsOnAMissingOfficePause(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		s, _ := standing(t, app, 0)
		c := int(s.offices[0].leader)
		s.stepDown(c, false, s.now)
		s.setNextCall(c, s.recipe.retryCall(s.Script, c, Await), false)
		from, asked := s.now, 0
		for ; s.now < from+int64(10*time.Second); asked++ {
			s.now = max(s.now, s.NextPrompt())
			n, _, ok := s.Prompt(s.now)
			if !ok || asked > 40 {
				break
			}
			ev := store.Event{Outcome: kv.Miss}
			ref := s.Fill(measure.Measured, n, 0, &s.op)
			if s.callOf(n) == Stand {
				ev.Outcome = kv.Conflict
			}
			s.Check(s.op.Kind, ref, &ev)
		}
		if asked < 10 || asked > 25 {
			t.Errorf("%+v: the candidate made %d calls in 10 s, want 10 to 25", app, asked)
		}
	}
}

// A leader that has a lease remains leader when its connection is lost. With Consul, a leader does
// not remain leader when it loses the connection on which it waits for changes of the lock holder.
func TestLeaderLosesItsConnection(t *testing.T) {
	for way, leads := range []bool{false, true, true} {
		s, _ := standing(t, Application{}, way)
		c := int(s.offices[0].leader)
		s.ConnectionLost(c)
		if s.isLeader(c) != leads {
			t.Errorf("way %d: the candidate leads: %v", way, s.isLeader(c))
		}
		if leads {
			s.expectNoCall()
		}
		if s.way.WatchesSeparately {
			s.ConnectionLost(s.CandidateCount() + c)
			if s.isLeader(c) {
				t.Error("the candidate leads without its watch")
			}
			s.expectCall(c, Look)
		}
	}
}

// A watch on a replaced connection reports nothing. So a candidate does not wait for the events of
// a watch that was confirmed on such a connection. A watch on the next connection does report
// events.
func TestIgnoresAWatchOnAReplacedConnection(t *testing.T) {
	for way := range 2 {
		s, _ := standing(t, Application{}, way)
		c := (int(s.offices[0].leader) + 1) % s.Candidates
		s.candidates[c].hasWatcher = false
		s.setNextCall(c, Await, false)
		_, ref := s.expectCall(c, Await)
		s.ConnectionLost(c)
		s.expectNoCall()
		s.Check(s.op.Kind, ref, &store.Event{})
		s.expectCall(c, Stand)
		s.candidates[c].busy = false
		s.setNextCall(c, Await, true)
		s.ConnectionLost(c)
		_, ref = s.expectCall(c, Await)
		s.Check(s.op.Kind, ref, &store.Event{})
		s.expectNoCall()
	}
}

// While renewals are unanswered, the lease's lifetime is counted from the time at which the oldest
// unanswered renewal was sent.
func TestLeaseLivesSinceTheOldestRenewal(t *testing.T) {
	s, _ := standing(t, Application{}, 1)
	renew := func(at int64) {
		s.Script.now = at
		s.setRenewCall(3, &s.op)
	}
	renew(1000)
	renew(2000)
	for range 2 {
		s.Check(kv.KeepAlive, encodeReference(3, plannedRenewal), &store.Event{})
		if got := s.aliveUntil[3] - int64(s.way.DefaultTTL); got != 1000 {
			t.Errorf("the session's timeout is counted from %d, want 1000", got)
		}
	}
	renew(3000)
	s.Check(kv.KeepAlive, encodeReference(3, plannedRenewal), &store.Event{})
	if got := s.aliveUntil[3] - int64(s.way.DefaultTTL); got != 3000 {
		t.Errorf("the session's timeout is counted from %d, want 3000", got)
	}
}

// If a resignation could not be sent before its timeout, it is repeated, provided that the recipe
// repeats resignations. The repetition starts the handover, which is counted from when the
// resignation was first due.
func TestRepeatsAResignationThatWasNotSent(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for way := range app.Definition().Ways {
			s, n := standing(t, app, way)
			if !s.Ready(n) {
				t.Fatal("the office has no leader")
			}
			c := s.candidateOf(n)
			o := s.officeOf(c)
			s.OperationFailed(n)
			s.OperationEnded(n, kv.NotSent, 1, 0)
			// The node may belong to another candidate by now.
			if s.recipe.retryCall(s.Script, c, Resign) != Resign {
				s.expectCall(c, Stand)
				if s.candidates[c].resignationDue != 0 || !s.isLeader(c) {
					t.Errorf("the candidate's state is %+v, want a leader without a pending resignation", s.candidates[c])
				}
				continue
			}
			s.expectCall(c, Resign)
			if s.isLeader(c) || !o.planned || o.lossDue != s.schedule.Due[n] || s.candidates[c].resignationDue != 0 {
				t.Errorf("way %d of %+v: the office is %+v", way, app, o)
			}
			had := s.handover.Outcomes[kv.OK]
			other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
			s.becomeLeader(other, 1<<40)
			s.countVacancy(other, s.now+5000)
			if want := s.now + 5000 - s.schedule.Due[n]; s.handover.Outcomes[kv.OK] != had+1 || s.handover.Response.Max() < want {
				t.Errorf("way %d of %+v: the longest handover took %d, want %d", way, app, s.handover.Response.Max(), want)
			}
		}
	}
}

// If a leader loses its lease before a resignation that is due can be sent, the election of the
// next leader ends the handover.
func TestLostLeaseCompletesADueResignation(t *testing.T) {
	s, n := standing(t, Application{}, 1)
	s.Ready(n)
	c := s.candidateOf(n)
	o := s.officeOf(c)
	s.OperationFailed(n)
	s.OperationEnded(n, kv.NotSent, 1, 0)
	s.loseLease(c)
	_, ref := s.expectCall(c, Renew)
	s.Check(s.op.Kind, ref, &store.Event{Count: 70})
	s.expectCall(c, Stand)
	if !o.planned || o.lossDue != s.schedule.Due[n] || s.candidates[c].resignationDue != 0 {
		t.Errorf("%+v", o)
	}
	had := s.handover.Outcomes[kv.OK]
	other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
	s.becomeLeader(other, 1<<40)
	s.countVacancy(other, s.now+5000)
	if s.handover.Outcomes[kv.OK] != had+1 {
		t.Errorf("%d handovers have ended, want one more than %d", s.handover.Outcomes[kv.OK], had)
	}
}
