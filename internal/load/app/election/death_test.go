package election

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const ttl = 10 * time.Second

// mortal returns a load in which each candidate has stood for election and the leaders of the first
// two offices are due to die. The TTL of sessions is the constant ttl.
func mortal(t *testing.T, app Application, way int) *scripted {
	t.Helper()
	return mortalFor(t, app, way, ttl)
}

// longLived is a session timeout. It is longer than the time for which a member that is cut off
// continues to respond to pings.
const longLived = 17 * time.Second

// mortalFor is like mortal, with a different TTL for sessions.
func mortalFor(t *testing.T, a Application, way int, ttl time.Duration) *scripted {
	t.Helper()
	s := scriptedWith(t, a, way, application.Settings{"elections": 3, "candidates": 4, "tenure": 1, "failovers": 2, "ttl": ttl.Seconds()}, 2*time.Minute)
	for n, e := range s.schedule.Entries {
		if e.Call == Stand {
			s.run(uint64(n))
		}
	}
	return s
}

// runUntil advances the time, and sends and answers all prompted operations. It returns the number
// of calls of each candidate.
func (s *scripted) runUntil(until int64) (made []int) {
	made = make([]int, s.CandidateCount())
	for {
		n, _, ok := s.Prompt(s.now)
		switch {
		case ok:
			made[s.candidateOf(n)]++
			s.answer(n)
		case s.now == until:
			return made
		default:
			s.now = min(max(s.NextPrompt(), s.now), until)
		}
	}
}

// end makes the store end the session of the first candidate in the office's queue.
func (s *scripted) end(office int) {
	s.queues[office] = append(s.queues[office][:0], s.queues[office][1:]...)
	gone := s.offices[office].deadLeader
	for w := range s.waiting {
		if s.waiting[w] && w/s.Candidates == office && (!s.queued() || s.before(w) == gone) {
			s.waiting[w] = s.way.WatchesSeparately
			s.HandleWatchEvent(&store.Event{Type: store.WatchChange, Watcher: uint32(w)})
		}
	}
}

func everyWay(t *testing.T, do func(t *testing.T, app Application, way int)) {
	for name, app := range map[string]Application{RaceName: {}, QueueName: {Queue: true}} {
		for way := range app.Definition().Ways {
			t.Run(name+", "+app.Definition().Ways[way].Name, func(t *testing.T) { do(t, app, way) })
		}
	}
}

// A dead leader sends nothing and ignores events. Three time spans end when the next leader is
// elected. They began when the old leader was due to die, when it died, and when its session may
// have ended. The dead leader then stands for election again, with a new session. Its calls for
// this purpose do not count as calls of the failover.
func TestDeadLeaderIsReplaced(t *testing.T) {
	everyWay(t, func(t *testing.T, app Application, way int) {
		s := mortal(t, app, way)
		first, dies := int(s.offices[0].leader), s.deaths.pendingDue
		s.runUntil(dies - 1)
		if !s.isLeader(first) || dies == 0 {
			t.Fatalf("just before its death at %d, the leader is %d, want %d", dies, s.offices[0].leader, first)
		}
		before := append([]uint64(nil), spannedBy(s)...)
		s.runUntil(dies)
		o := &s.offices[0]
		if o.leader != none || int(o.deadLeader) != first || o.sessionAliveUntil <= dies || o.sessionAliveUntil > dies+int64(ttl) || s.offices[2].leader == none {
			t.Fatalf("after the death at %d, office 0 is %+v and office 2 is %+v", dies, o, s.offices[2])
		}
		s.HandleWatchEvent(&store.Event{Type: store.WatchChange, Watcher: uint32(first)})
		s.ConnectionLost(first)
		s.SessionExpired(first)
		ends := max(s.offices[0].sessionAliveUntil, s.offices[1].sessionAliveUntil) + int64(time.Second)
		if made := s.runUntil(ends); made[first] > 0 || slices.Max(made) == 0 {
			t.Errorf("the dead leader made %d calls; the calls by candidate are %v", made[first], made)
		}
		s.end(0)
		s.end(1)
		s.runUntil(ends + int64(time.Millisecond))
		next := int(o.leader)
		if next == none || next == first || s.wrongResponses > 0 {
			t.Fatalf("after the failover, candidate %d leads, and %d responses were wrong", next, s.wrongResponses)
		}
		for _, span := range []struct {
			name     string
			of       int64
			response int64
		}{
			{"failover", ends - dies, s.deaths.failover.Response.Max()}, {"without a leader", ends - dies, s.deaths.noLeaderAfterDeath.Response.Max()},
			{"behind", ends - min(s.offices[0].sessionAliveUntil, s.offices[1].sessionAliveUntil), s.deaths.noLeaderAfterExpiry.Response.Max()},
		} {
			if math.Abs(float64(span.response-span.of)) > 0.002*float64(span.of)+1e6 {
				t.Errorf("%s is %v, want %v", span.name, time.Duration(span.response), time.Duration(span.of))
			}
		}
		for _, calls := range s.CallCounts() {
			if calls.IsSpan && calls.Name != "handover" && (calls.Due != 2 && calls.Name != "no leader" || calls.Failed() > 0) {
				t.Errorf("%q: %d due, %d failed", calls.Name, calls.Due, calls.Failed())
			}
		}
		took := spannedBy(s)
		for call, each := range perFailover(&s.Config, s.way) {
			if got := took[call] - before[call]; got != 2*each {
				t.Errorf("%d calls %q in 2 failovers, want %d each", got, s.way.Shapes[call].Name, each)
			}
		}
		back := ends + int64(ReturnDelay)
		if made := s.runUntil(back - int64(time.Millisecond)); made[first] > 0 {
			t.Errorf("the dead leader made %d calls before its return", made[first])
		}
		own := append([]int64(nil), s.leases...)
		if s.leases != nil {
			s.leases[first] = 0 // the lease has ended by then
		}
		if made := s.runUntil(back + int64(time.Second)); made[first] == 0 || s.isLeader(first) || s.candidates[first].dead {
			t.Errorf("after its return, the dead leader made %d calls, and its state is %+v", made[first], s.candidates[first])
		}
		if s.leases != nil && s.leases[first] == 0 {
			t.Errorf("after the leader's return, the leases are %v; before, they were %v", s.leases, own)
		}
		if again := spannedBy(s); !slices.Equal(again, took) {
			t.Errorf("the calls of the leader's return are counted as failover calls: %v, want %v", again, took)
		}
	})
}

func spannedBy(s *scripted) (of []uint64) {
	for i := range s.calls {
		of = append(of, s.calls[i].FailoverCalls)
	}
	return of
}

// perFailover returns the number of calls of each kind in a failover. These are the calls in a
// handover with one candidate fewer, without the resignation. In addition, the next leader ends its
// own watcher. A leader that resigns no longer has a watcher.
func perFailover(c *Config, w *Way) (n [NumCalls]uint64) {
	left := float64(c.Candidates - 1)
	for call, each := range w.CallsPerHandover(left) {
		n[call] = uint64(each)
	}
	n[Resign] = 0
	switch w.Recipe {
	case EphemeralQueue, LeaseQueue: // the next candidate makes one Look, and becomes leader
		n[Stand], n[Look], n[Await] = 0, 1, 0
	case LeaseRace:
		n[Drop]++ // the next leader also had a watcher to end
	case SessionRace:
		n[Look]-- // the resigning leader's
	}
	return n
}

// A candidate that becomes leader while the dead leader's session must still be alive is a second
// leader. A candidate that becomes leader after the end of that session is not.
func TestLeaderBeforeADeadLeadersExpiryIsWrong(t *testing.T) {
	everyWay(t, func(t *testing.T, app Application, way int) {
		for _, early := range []bool{true, false} {
			s := mortalFor(t, app, way, longLived)
			s.runUntil(s.deaths.pendingDue)
			o := &s.offices[0]
			c := (int(o.deadLeader) + 1) % s.Candidates
			if s.Script.now = o.sessionAliveUntil; early {
				s.Script.now--
			}
			if s.leases != nil {
				s.aliveUntil[c] = s.Script.now
			}
			wrong := s.becomeLeader(c, 1<<40)
			if (wrong != nil) != early || early && string(wrong) != string(deadSessionAliveText) {
				t.Errorf("early %v: becomeLeader returned %q", early, wrong)
			}
		}
	})
}

// A member that has dropped its clients may have responded to pings that no other member learned
// of. A dead leader's session on such a member may therefore end early, and the time since its end
// is not measured. This does not apply if only the dead leader's connection is lost, or only a
// living candidate's connection.
func TestSessionOnACutOffMemberMayEndEarly(t *testing.T) {
	for _, test := range []struct{ dead, ended, living, doubted bool }{{true, false, true, true}, {true, false, false, false}, {false, false, true, false}, {true, true, true, false}} {
		s := mortalFor(t, Application{}, 0, longLived)
		s.runUntil(s.deaths.pendingDue)
		o := &s.offices[0]
		c := (int(o.deadLeader) + 1) % s.Candidates
		if test.living {
			s.ConnectionLost(2 * s.Candidates)
		}
		if test.ended { // its session has ended, and so has its connection
			s.Script.now = o.sessionAliveUntil
		}
		if test.dead {
			s.ConnectionLost(int(o.deadLeader))
		}
		if s.Script.now = o.sessionAliveUntil - 1; test.ended {
			s.Script.now++
		}
		wrong, timed := s.becomeLeader(c, 1<<40), uint64(2)
		if test.doubted {
			timed--
		}
		if (wrong == nil) != (test.doubted || test.ended) || s.deaths.noLeaderAfterExpiry.Due != timed {
			t.Errorf("%+v: becomeLeader returned %q, and %d vacancies are counted from the session's end", test, wrong, s.deaths.noLeaderAfterExpiry.Due)
		}
		s.countVacancy(c, s.Script.now)
		if s.deaths.failover.Outcomes[kv.OK] != 1 || s.deaths.noLeaderAfterExpiry.Outcomes[kv.OK] != timed-1 {
			t.Errorf("%+v: %d failovers have ended, and %d vacancies that are counted from the session's end", test, s.deaths.failover.Outcomes[kv.OK], s.deaths.noLeaderAfterExpiry.Outcomes[kv.OK])
		}
	}
}

// A member that is cut off drops its clients after some time. If the session timeout is shorter
// than that time, a session is certain to be alive only until the timeout has passed since its
// latest write that a majority acknowledged. This is true for living and dead leaders. Sessions
// with a longer timeout are always certain to be alive. A leader that may have lost its office
// makes a Look.
func TestShortSessionMayExpireUnnoticed(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for _, test := range []struct {
			lives        time.Duration
			dead, behind bool
			wrong        []byte
		}{
			{ttl, false, false, twoLeadersText}, {ttl, false, true, nil}, {longLived, false, true, twoLeadersText},
			{ttl, true, false, deadSessionAliveText}, {ttl, true, true, nil}, {longLived, true, true, deadSessionAliveText},
		} {
			s := mortalFor(t, app, 0, test.lives)
			s.runUntil(s.deaths.pendingDue - 1)
			o := &s.offices[0]
			first := o.leader
			if test.dead {
				s.runUntil(s.deaths.pendingDue)
			}
			heard := s.sessionTTL - s.renewals.interval - int64(time.Second)
			if s.candidates[first].lastWriteSent = s.now - heard; !test.behind {
				s.candidates[first].lastWriteSent++
			}
			wrong := s.becomeLeader((int(first)+1)%s.Candidates, 1<<40)
			if string(wrong) != string(test.wrong) || (wrong == nil) != (test.wrong == nil) {
				t.Errorf("session timeout %v, dead %v, last write too long ago %v: becomeLeader returned %q, want %q", test.lives, test.dead, test.behind, wrong, test.wrong)
			}
			if timed := s.deaths.noLeaderAfterExpiry.Due; test.dead && (timed == 1) != (wrong == nil) {
				t.Errorf("session timeout %v, last write too long ago %v: %d vacancies are counted from the session's end", test.lives, test.behind, timed)
			}
			if looks := s.candidates[first].busy; looks != (wrong == nil && !test.dead) {
				t.Errorf("session timeout %v, dead %v, last write too long ago %v: the first leader makes a Look: %v", test.lives, test.dead, test.behind, looks)
			}
		}
	}
}

// If a renewal was in flight when the leader died, the session's timeout is counted from that
// renewal. If the response to the renewal reports that the lease has ended, the session is no
// longer alive.
func TestLeaderDiesWithARenewalInFlight(t *testing.T) {
	s := mortal(t, Application{}, 1)
	first := int(s.offices[0].leader)
	s.runUntil(s.deaths.pendingDue - 1)
	s.Script.now = s.deaths.pendingDue - 1
	s.setRenewCall(first, &s.op)
	s.setRenewCall(int(s.offices[1].leader), &s.op)
	s.runUntil(s.deaths.pendingDue)
	o, other := &s.offices[0], &s.offices[1]
	s.Check(kv.KeepAlive, encodeReference(first, plannedRenewal), &store.Event{})
	if want := o.vacantSince - 1 + int64(ttl); o.sessionAliveUntil != want {
		t.Errorf("the first dead leader's lease lives until %d, want %d", o.sessionAliveUntil, want)
	}
	s.OperationEnded(s.newNumber(int(other.deadLeader), plannedRenewal), kv.BadRequest, 1, 1)
	if other.sessionAliveUntil != 0 || s.deaths.noLeaderAfterExpiry.Due != 1 {
		t.Errorf("the expired lease lives until %d, want 0; %d vacancies are counted from the session's end, want 1", other.sessionAliveUntil, s.deaths.noLeaderAfterExpiry.Due)
	}
}

// If a leader is due to die while it has a call in flight, it dies when the call has ended. If an
// office has no leader, the next leader dies. In both cases, the failover is counted from when the
// death was due.
func TestDeathWaitsForTheCallInFlight(t *testing.T) {
	s := mortal(t, Application{}, 0)
	first := int(s.offices[0].leader)
	s.runUntil(s.deaths.pendingDue - 1)
	s.stepDown(first, false, s.now)
	s.candidates[s.offices[1].leader].busy = true
	due := s.deaths.pendingDue
	s.runUntil(due + int64(time.Second))
	if s.offices[0].leaderDied || s.offices[1].leaderDied || s.offices[1].leader == none {
		t.Fatalf("%+v", s.offices)
	}
	s.setNextCall(first, Stand, false)
	s.queues[0] = s.queues[0][:0]
	second := s.offices[1].leader
	s.candidates[second].busy = false
	s.OperationEnded(s.newNumber(int(second), Look), kv.OK, 1, 1)
	s.runUntil(s.now + 1)
	for i, who := range []int{first, int(second)} {
		if o := &s.offices[i]; !o.leaderDied || int(o.deadLeader) != who || o.lossDue != due || o.vacantSince < due+int64(time.Second) {
			t.Errorf("office %d is %+v", i, o)
		}
	}
}

// Sessions are kept alive at the configured interval and at the rate in the profile. Keeping them
// alive does not allocate memory. If no leader dies, connections that have sessions keep them alive
// themselves.
func TestSessionsAreKeptAlive(t *testing.T) {
	settle.SkipUnderRace(t)
	everyWay(t, func(t *testing.T, a Application, way int) {
		s := mortal(t, a, way)
		s.deaths.pendingDue = 0
		const length = 10 * time.Minute
		from, had := s.now, s.calls[Renew].Due
		s.runUntil(from + int64(length))
		got, want := float64(s.calls[Renew].Due-had), s.way.Rates(&s.Config)[Renew]*length.Seconds()
		if math.Abs(got-want) > 0.01*want || want == 0 {
			t.Errorf("%v renewals, want %v", got, want)
		}
		if got := testing.AllocsPerRun(100, func() {
			n, _, ok := s.Prompt(s.renewals.nextTime())
			if s.Fill(0, n, 0, &s.op); !ok || s.callOf(n) != Renew {
				t.Fatal("no session is kept alive")
			}
		}); got != 0 {
			t.Errorf("%v allocations", got)
		}
		if s.way.SessionPerConnection {
			calm := newScripted(t, a, way)
			if calm.SessionTimeout() != 0 || s.SessionTimeout() != ttl || New(a, app.Setup{Settings: calmSettings(), Length: time.Minute}).renewals.order.n > 0 {
				t.Errorf("sessions live for %v without deaths, and for %v with deaths", calm.SessionTimeout(), s.SessionTimeout())
			}
		}
	})
}

// If a server shortens the session timeout, the shorter timeout also applies to earlier responses.
// So no session is expected to live longer than the server granted.
func TestShorterGrantedTimeoutAppliesToAllSessions(t *testing.T) {
	s := mortal(t, Application{}, 0)
	first := int(s.offices[0].leader)
	had := s.aliveUntil[first]
	s.Check(kv.KeepAlive, encodeReference(first+1, plannedRenewal), &store.Event{Count: 4})
	if want := had - 6e9; had == 0 || s.aliveUntil[first] != want || s.sessionTTL != 4e9 {
		t.Errorf("the session lives until %d, before until %d, want until %d; the timeout is %d", s.aliveUntil[first], had, want, s.sessionTTL)
	}
}

func calmSettings() application.Settings {
	d := Application{}.Definition()
	return d.Defaults()
}
