package election

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// standing is a load of which each candidate has stood, and the next operation, which is
// the first resignation.
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

// follows takes the next operation, which is to be a candidate's call, and fills it.
func (s *scripted) follows(c int, want Call) (n, ref uint64) {
	s.t.Helper()
	s.now = max(s.now, s.NextPrompt())
	n, _, ok := s.Prompt(s.now)
	if !ok || s.whose(n) != c || s.what(n) != want {
		s.t.Fatalf("operation %x of %d follows, want call %d of %d", n, s.whose(n), want, c)
	}
	return n, s.Fill(measure.Measured, n, 0, &s.op)
}

// nothing holds that no operation follows.
func (s *scripted) nothing() {
	s.t.Helper()
	if n, _, ok := s.Prompt(max(s.now, s.NextPrompt())); ok {
		s.t.Fatalf("operation %x follows: call %d of %d", n, s.what(n), s.whose(n))
	}
}

// A resignation that waited while the connection was lost removes nothing in a race: the
// node may be another's. The handover counts from when it was to be all the same, and ends
// there if somebody leads already.
func TestAResignationOfNoLeader(t *testing.T) {
	for _, filled := range []bool{false, true} {
		s, n := standing(t, Application{}, 0)
		if !s.Ready(n) {
			t.Fatal("nobody leads")
		}
		c := s.whose(n)
		s.Lost(c)
		o := s.officeOf(c)
		if filled {
			other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
			s.leads(other, 1<<40)
			s.took(other, s.now)
		}
		s.Fill(measure.Measured, n, 0, &s.op)
		if s.op.Call.Parts[0].Action != call.Read {
			t.Errorf("%+v is sent", s.op.Call)
		}
		if got := s.handover.Outcomes[kv.OK]; (got == 1) != filled || !filled && (!o.planned || o.due != s.schedule.Due[n]) {
			t.Errorf("filled already: %v; %d handovers have ended, and %+v", filled, got, o)
		}
	}
}

// Without a lease a candidate does nothing before it has one, whatever it was to do and
// whether it knew that before the call was due or while it waited for the connection.
func TestNobodyStandsWithoutALease(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		s, _ := standing(t, app, 1)
		c := (int(s.offices[0].leader) + 1) % s.Candidates
		s.want(c, Stand, true)
		s.bereft(c)
		_, ref := s.follows(c, Renew)
		if s.op.Call.Parts[0].Action != call.Grant {
			t.Errorf("%+v is sent", s.op.Call)
		}
		s.Check(s.op.Kind, ref, &store.Event{Count: 70})
		n, _, _ := s.Prompt(s.now)
		s.bereft(c)
		ref = s.Fill(measure.Measured, n, 0, &s.op)
		if s.what(n) != Stand || s.op.Call.Parts[0].Action != call.Grant {
			t.Errorf("%+v is sent as call %d", s.op.Call, s.what(n))
		}
		s.Check(s.op.Kind, ref, &store.Event{Count: 71})
		if s.follows(c, Stand); s.op.Call.Parts[1].Lease != 71 {
			t.Errorf("%+v is sent", s.op.Call)
		}
	}
	s := newScripted(t, Application{}, 1)
	c := int(s.schedule.Entries[0].Of)
	s.leases[c] = 0
	s.Ready(0)
	ref := s.Fill(measure.Measured, 0, 0, &s.op)
	s.Check(s.op.Kind, ref, &store.Event{Count: 70})
	if s.follows(c, Stand); s.op.Call.Parts[1].Lease != 70 {
		t.Errorf("%+v is sent at first", s.op.Call)
	}
}

// A candidate whose own lease may have ended, and one of which that is not known while
// another's lives, renews it before anybody is accused; while the leader's is not known it
// is not accused either. From the end of a leader's lease on nobody leads.
func TestTheOwnLeaseIsLookedAtFirst(t *testing.T) {
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
		s.lives[c], s.lives[leader] = test.own, test.leaders
		ev := store.Event{At: 1 << 40}
		o := s.Check(kv.CAS, reference(c, Stand), &ev)
		if (o == kv.WrongAnswer) != test.wrong {
			t.Errorf("%+v: %v", test, o)
		}
		if s.candidates[c].queued && s.candidates[c].call == Renew != (test.first == Renew) {
			t.Errorf("%+v: call %d follows", test, s.candidates[c].call)
		}
		if led := s.leader(c); led != (test.first != Renew) {
			t.Errorf("%+v: it leads: %v", test, led)
		}
		if of := &s.offices[0]; of.vacant != (test.leaders == at-1 && test.own == at) || of.vacant && of.since != at-1 {
			t.Errorf("%+v: nobody leads: %v, since %d", test, of.vacant, of.since)
		}
	}
}

// A wrong answer has a candidate make one call, and so has a renewal of the schedule while
// it waits for one of its own.
func TestACandidateMakesOneCall(t *testing.T) {
	s, _ := standing(t, Application{Queue: true}, 1)
	c := (int(s.offices[0].leader) + 1) % s.Candidates
	s.want(c, Look, false)
	n, ref := s.follows(c, Look)
	if o := s.Check(kv.Range, ref, &store.Event{Key: []byte("p/e000000/xyz")}); o != kv.WrongAnswer {
		t.Fatalf("a strange key is %v", o)
	}
	s.Failed(n)
	s.Ended(n, kv.WrongAnswer, 1, 1)
	s.follows(c, Look)
	s.nothing()
	s.Failed(n) // that of another
	s.bereft(c)
	n, ref = s.follows(c, Renew)
	s.Check(kv.KeepAlive, reference(c, planRenew), &store.Event{Count: 70})
	s.nothing()
	s.Check(kv.KeepAlive, ref, &store.Event{Count: 71})
	s.Ended(n, kv.OK, 1, 1)
	s.follows(c, Stand)
	s.nothing()
}

// What an earlier run left is not a candidate's own: it waits for it as for another's.
func TestAnEarlierRunsNodeIsNobodys(t *testing.T) {
	for way := range 2 {
		s, _ := standing(t, Application{}, way)
		c := int(s.offices[0].leader)
		name := AppendCandidate(nil, c, s.source.run+1)
		s.ceases(c, false, s.now)
		s.want(c, Stand, false)
		_, ref := s.follows(c, Stand)
		s.Check(s.op.Kind, ref, &store.Event{Outcome: kv.Conflict, Value: name})
		if way == 0 {
			_, ref = s.follows(c, Await)
			s.Check(s.op.Kind, ref, &store.Event{Value: name})
		}
		if s.leader(c) {
			t.Errorf("way %d: it leads by it", way)
		}
	}
	s, _ := standing(t, Application{Queue: true}, 0)
	c := int(s.offices[0].leader)
	s.candidates[c].own = 5
	s.want(c, Look, false)
	_, ref := s.follows(c, Look)
	q := s.op.Range.Keys
	q.Begin(0)
	heard := func(run uint32, order int64) {
		s.node(c, run, order)
		q.Add(0, s.key[len("p/e000000/"):], nil, 0)
	}
	heard(s.source.run+1, 3)
	heard(s.source.run, 5)
	s.Check(s.op.Kind, ref, &store.Event{})
	s.follows(c, Await)
	if want := string(AppendCandidate([]byte("p/e000000/"), c, s.source.run+1)) + latch + "0000000002"; string(s.op.Call.Parts[0].Key) != want {
		t.Errorf("it waits for %s, want %s", s.op.Call.Parts[0].Key, want)
	}
}

// A node that a call made whose answer was lost is removed: others, or the candidate
// itself, would wait for it for ever.
func TestALostNodeIsRemoved(t *testing.T) {
	for _, order := range []int64{3, 9} {
		s, _ := standing(t, Application{Queue: true}, 0)
		c := int(s.offices[0].leader)
		s.candidates[c].own = 5
		s.want(c, Look, false)
		_, ref := s.follows(c, Look)
		q := s.op.Range.Keys
		q.Begin(0)
		for _, order := range []int64{order, 5} {
			s.node(c, s.source.run, order)
			q.Add(0, s.key[len("p/e000000/"):], nil, 0)
		}
		s.Check(s.op.Kind, ref, &store.Event{})
		_, ref = s.follows(c, Drop)
		if got, _ := sequence(s.op.Call.Parts[0].Key); got != order || s.op.Call.Parts[0].Action != call.Remove {
			t.Errorf("%+v is sent", s.op.Call)
		}
		s.Check(s.op.Kind, ref, &store.Event{})
		s.follows(c, Look)
	}
}

// An office that is missing is not asked for without a pause.
func TestAMissingOffice(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		s, _ := standing(t, app, 0)
		c := int(s.offices[0].leader)
		s.ceases(c, false, s.now)
		s.want(c, s.recipe.again(s.Script, c, Await), false)
		from, asked := s.now, 0
		for ; s.now < from+int64(10*time.Second); asked++ {
			s.now = max(s.now, s.NextPrompt())
			n, _, ok := s.Prompt(s.now)
			if !ok || asked > 40 {
				break
			}
			ev := store.Event{Outcome: kv.Miss}
			ref := s.Fill(measure.Measured, n, 0, &s.op)
			if s.what(n) == Stand {
				ev.Outcome = kv.Conflict
			}
			s.Check(s.op.Kind, ref, &ev)
		}
		if asked < 10 || asked > 25 {
			t.Errorf("%+v: %d calls in 10 s", app, asked)
		}
	}
}

// Who leads by a lease leads on without its connection; of Consul's it does not without
// that by which it is told who has the lock.
func TestALeaderThatLosesItsConnection(t *testing.T) {
	for way, leads := range []bool{false, true, true} {
		s, _ := standing(t, Application{}, way)
		c := int(s.offices[0].leader)
		s.Lost(c)
		if s.leader(c) != leads {
			t.Errorf("way %d: it leads: %v", way, s.leader(c))
		}
		if leads {
			s.nothing()
		}
		if s.way.Watches {
			s.Lost(s.All() + c)
			if s.leader(c) {
				t.Error("it leads without its watch")
			}
			s.follows(c, Look)
		}
	}
}

// A watch that was set on a connection that has been replaced since tells nothing: who was
// answered on it does not wait for that. What is made on the next connection counts.
func TestAWatchOnAnOldConnection(t *testing.T) {
	for way := range 2 {
		s, _ := standing(t, Application{}, way)
		c := (int(s.offices[0].leader) + 1) % s.Candidates
		s.candidates[c].watches = false
		s.want(c, Await, false)
		_, ref := s.follows(c, Await)
		s.Lost(c)
		s.nothing()
		s.Check(s.op.Kind, ref, &store.Event{})
		s.follows(c, Stand)
		s.candidates[c].busy = false
		s.want(c, Await, true)
		s.Lost(c)
		_, ref = s.follows(c, Await)
		s.Check(s.op.Kind, ref, &store.Event{})
		s.nothing()
	}
}

// A lease is held to live from when the oldest renewal was sent that is not answered.
func TestALeaseLivesFromTheOldestRenewal(t *testing.T) {
	s, _ := standing(t, Application{}, 1)
	renew := func(at int64) {
		s.Script.now = at
		s.renew(3, &s.op)
	}
	renew(1000)
	renew(2000)
	for range 2 {
		s.Check(kv.KeepAlive, reference(3, planRenew), &store.Event{})
		if got := s.lives[3] - int64(s.way.Lives); got != 1000 {
			t.Errorf("it lives from %d on", got)
		}
	}
	renew(3000)
	s.Check(kv.KeepAlive, reference(3, planRenew), &store.Event{})
	if got := s.lives[3] - int64(s.way.Lives); got != 3000 {
		t.Errorf("it lives from %d on", got)
	}
}

// A resignation that could not be sent before its timeout is made again, where it is so at
// all, and then begins the handover that was due; the time counts from when it was to be.
func TestAResignationThatIsSentLate(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for way := range app.Definition().Ways {
			s, n := standing(t, app, way)
			if !s.Ready(n) {
				t.Fatal("nobody leads")
			}
			c := s.whose(n)
			o := s.officeOf(c)
			s.Failed(n)
			s.Ended(n, kv.NotSent, 1, 0)
			if s.recipe.again(s.Script, c, Resign) != Resign { // the node may be another's
				s.follows(c, Stand)
				if s.candidates[c].owes != 0 || !s.leader(c) {
					t.Errorf("it stands, and %+v", s.candidates[c])
				}
				continue
			}
			s.follows(c, Resign)
			if s.leader(c) || !o.planned || o.due != s.schedule.Due[n] || s.candidates[c].owes != 0 {
				t.Errorf("way %d of %+v: %+v", way, app, o)
			}
			had := s.handover.Outcomes[kv.OK]
			other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
			s.leads(other, 1<<40)
			s.took(other, s.now+5000)
			if want := s.now + 5000 - s.schedule.Due[n]; s.handover.Outcomes[kv.OK] != had+1 || s.handover.Response.Max() < want {
				t.Errorf("way %d of %+v: a handover took %d at most, want %d", way, app, s.handover.Response.Max(), want)
			}
		}
	}
}

// An office whose leader was to resign, and lost its lease before that could be sent, has
// been handed over when another leads.
func TestAResignationThatALostLeaseOvertakes(t *testing.T) {
	s, n := standing(t, Application{}, 1)
	s.Ready(n)
	c := s.whose(n)
	o := s.officeOf(c)
	s.Failed(n)
	s.Ended(n, kv.NotSent, 1, 0)
	s.bereft(c)
	_, ref := s.follows(c, Renew)
	s.Check(s.op.Kind, ref, &store.Event{Count: 70})
	s.follows(c, Stand)
	if !o.planned || o.due != s.schedule.Due[n] || s.candidates[c].owes != 0 {
		t.Errorf("%+v", o)
	}
	had := s.handover.Outcomes[kv.OK]
	other := c/s.Candidates*s.Candidates + (c+1)%s.Candidates
	s.leads(other, 1<<40)
	s.took(other, s.now+5000)
	if s.handover.Outcomes[kv.OK] != had+1 {
		t.Errorf("%d handovers have ended, had %d", s.handover.Outcomes[kv.OK], had)
	}
}
