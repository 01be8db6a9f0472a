package election

import (
	"fmt"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// scripted runs a load against a model of the store. The model has nodes with a fixed name, or a
// queue ordered by numbers.
type scripted struct {
	*source
	t       *testing.T
	zxid    int64
	queues  [][]int32 // by office: the candidates, ordered by their numbers
	numbers []int64   // by candidate: the number of its node
	value   []byte
	waiting []bool // by candidate: whether it waits for the deletion of the preceding node
	now     int64
	op      store.Op
	ev      store.Event
	held    []byte
	o       history.Op
}

func newScripted(t *testing.T, a Application, way int) *scripted {
	s := scriptedWith(t, a, way, application.Settings{"elections": 3, "candidates": 4, "tenure": 1}, 20*time.Second)
	s.renewals = renewalSchedule{} // renewals of sessions have separate tests
	return s
}

func scriptedWith(t *testing.T, a Application, way int, settings application.Settings, length time.Duration) *scripted {
	s := &scripted{t: t}
	script := New(a, app.Setup{Settings: settings, Length: length, Prefix: "p/", Way: way})
	for i := range script.leases {
		script.leases[i] = int64(i) + 1
	}
	s.source = script.Source().(*source)
	s.queues, s.numbers, s.waiting = make([][]int32, script.Offices), make([]int64, script.CandidateCount()), make([]bool, script.CandidateCount())
	for i := range s.queues {
		s.queues[i] = make([]int32, 0, script.Candidates)
	}
	return s
}

var somethingElse = []byte("something else")

// queued reports whether the candidates form a queue.
func (s *scripted) queued() bool {
	return s.way.Recipe == EphemeralQueue || s.way.Recipe == LeaseQueue
}

// before returns the candidate that precedes candidate c in the queue.
func (s *scripted) before(c int) int32 {
	if s.way.Recipe == LeaseQueue {
		return int32(s.candidates[c].precedingNumber) - 1
	}
	return s.candidates[c].precedingCandidate
}

// run sends an operation, and all operations that are prompted as a consequence.
func (s *scripted) run(n uint64) {
	s.Prompt(s.now)
	if !s.Ready(n) {
		s.t.Fatalf("operation %d is not ready", n)
	}
	s.answer(n)
	for {
		s.now += 1000
		n, _, ok := s.Prompt(s.now)
		if !ok {
			return
		}
		s.answer(n)
	}
}

// answer sends an operation and handles the response of the model.
func (s *scripted) answer(n uint64) {
	op, ev := &s.op, &s.ev
	if s.ConnectionIndex(n) < 0 {
		s.t.Fatalf("operation %d waits for no connection", n)
	}
	ref := s.Fill(measure.Measured, n, 0, op)
	c, call := s.candidateOf(n), s.callOf(n)
	queue := &s.queues[c/s.Candidates]
	s.zxid++
	*ev = store.Event{StoreRevision: s.zxid, Count: 1}
	gone := int32(none)
	switch {
	case call == Resign:
		gone = int32(c)
		*queue = append((*queue)[:0], (*queue)[1:]...)
	case call == Drop:
	case call == Renew:
		if ev.Count = s.sessionTTL / int64(time.Second); s.leases != nil {
			ev.Count, ev.Value = int64(c)+1, fmt.Appendf(nil, "%08x-0000-4000-8000-000000000000", c+1)
		}
	case call == Stand && !s.queued() && len(*queue) > 0:
		ev.Outcome = kv.Conflict
		s.value = AppendCandidate(s.value[:0], int((*queue)[0]), s.source.run)
		ev.Value = s.value
	case call == Stand:
		*queue = append(*queue, int32(c))
		s.numbers[c] = s.zxid
		if s.way.Recipe == EphemeralQueue {
			s.setNodeKey(c, s.source.run, s.zxid+1)
			ev.Key = s.key
		}
	case call == Look && s.way.Recipe == SessionRace:
		if len(*queue) > 0 {
			holder := int((*queue)[0])
			s.held = append(s.held[:0], s.sessionName(holder)...)
			ev.PreviousValue, ev.PreviousRevision = s.held, s.numbers[holder]
		}
	case call == Look && s.way.Recipe == LeaseQueue:
		for i := 1; i < len(*queue); i++ {
			if (*queue)[i] == int32(c) {
				s.setLeaseKey(c, s.leases[(*queue)[i-1]])
				ev.Key = s.key
			}
		}
	case call == Look:
		keys := op.Range.Keys
		keys.Begin(0)
		for i := range *queue {
			of := (*queue)[len(*queue)-1-i]
			s.setNodeKey(int(of), s.source.run, s.numbers[of]+1)
			keys.Add(0, s.key[len("p/e000000/"):], nil, 0)
		}
		keys.Add(0, somethingElse, nil, 0)
	default:
		s.waiting[c] = true
		s.value = AppendCandidate(s.value[:0], int((*queue)[0]), s.source.run)
		ev.Value = s.value
	}
	if o := s.Check(op.Kind, ref, ev); o == kv.WrongResponse {
		s.t.Fatalf("%s: %s", s.way.Shapes[call].Name, ev.Text)
	}
	s.OperationEnded(n, ev.Outcome, 1000, 900)
	s.recorded(ref, c)
	if gone == none {
		return
	}
	for w := range s.waiting {
		if s.waiting[w] && w != c && w/s.Candidates == c/s.Candidates && (!s.queued() || s.before(w) == gone) {
			s.waiting[w] = s.way.WatchesSeparately
			*ev = store.Event{Type: store.WatchChange, Watcher: uint32(w), Revision: s.zxid, StoreRevision: s.zxid, Key: s.names(w)}
			if s.chronicle != nil {
				s.chronicle.WatchEvent(uint32(w), ev, s.now, 0, s.now)
			}
			s.HandleWatchEvent(ev)
		}
	}
}

// recorded passes the completed operation to the chronicle, if the load has one.
func (s *scripted) recorded(ref uint64, c int) {
	if s.chronicle != nil {
		s.o = history.Op{Kind: s.op.Kind, Consistency: s.op.Consistency, Outcome: s.ev.Outcome, Session: uint32(c), Invoked: s.now, Done: s.now}
		s.chronicle.OperationEnded(&engine.Completion{Phase: measure.Measured, Ref: ref, Expected: s.op.Revision, Event: &s.ev, Op: &s.o})
	}
}

// names returns the key that candidate w watches.
func (s *scripted) names(w int) []byte {
	if s.way.Recipe == LeaseQueue {
		s.held = appendLeaseKey(s.held[:0], s.prefix, w/s.Candidates, s.candidates[w].precedingNumber)
		return s.held
	}
	s.held = append(AppendOffice(s.held[:0], s.prefix, w/s.Candidates), leaderNode...)
	return s.held
}

// No memory is allocated to create a call, to handle its response, to handle an event, or to record
// a call or an event. Each handover takes the number of calls that the profile states.
func TestElectionsDoNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, app := range []Application{{}, {Queue: true}} {
		for way := range app.Definition().Ways {
			handOver(t, app, way, false)
			handOver(t, app, way, true)
		}
	}
}

func handOver(t *testing.T, app Application, way int, checked bool) {
	s := newScripted(t, app, way)
	if checked {
		block := history.NewBlock()
		s.NewKeyRecorder(&history.Recorder{Take: func() *history.Block { block.Reset(); return block }, Deliver: func(*history.Block) {}})
	}
	for n, e := range s.schedule.Entries {
		if e.Call == Stand {
			s.run(uint64(n))
		}
	}
	n := uint64(0)
	next := func() {
		for s.schedule.Entries[n].Call == Stand {
			n++
		}
		s.run(n)
		n++
	}
	for range 20 { // until all candidates have waited
		next()
	}
	before, had := s.calls, s.handover.Outcomes[kv.OK]
	spanned := [NumCalls]uint64{}
	for call := range before {
		spanned[call] = before[call].HandoverCalls
	}
	if got := testing.AllocsPerRun(20, next); got != 0 {
		t.Errorf("%+v, way %d: %v allocations in a handover", app, way, got)
	}
	handovers := s.handover.Outcomes[kv.OK] - had
	if handovers < 20 || s.wrongResponses > 0 {
		t.Errorf("%+v, way %d: %d handovers, and %d wrong responses", app, way, handovers, s.wrongResponses)
	}
	for call, want := range s.way.CallsPerHandover(float64(s.Candidates)) {
		if got := s.calls[call].HandoverCalls - spanned[call]; Call(call) != Renew && float64(got) != want*float64(handovers) {
			t.Errorf("%+v, way %d: %d calls %q in %d handovers, want %v each", app, way, got, s.way.Shapes[call].Name, handovers, want)
		}
	}
}

// A response is wrong if it makes a candidate leader while another candidate is leader, or if its
// token is not higher than the previous leader's token. It is not wrong if the other candidate has
// lost its connection.
func TestSecondLeaderIsAWrongResponse(t *testing.T) {
	begin := func() *scripted {
		s := newScripted(t, Application{}, 0)
		for n := range uint64(12) {
			s.run(n)
		}
		return s
	}
	stand := func(s *scripted, at int64) (kv.Outcome, string) {
		leader := int(s.offices[0].tokenHolder)
		c := (leader + 1) % s.Candidates
		s.setNextCall(c, Stand, false)
		ref := encodeReference(c, Stand)
		ev := store.Event{StoreRevision: at}
		o := s.Check(kv.Ephemeral, ref, &ev)
		return o, string(ev.Text)
	}
	s := begin()
	if o, text := stand(s, 1000); o != kv.WrongResponse || text != string(twoLeadersText) || s.wrongResponses != 1 {
		t.Errorf("second leader: %v, %q", o, text)
	}
	s = begin()
	s.ConnectionLost(int(s.offices[0].leader))
	if o, text := stand(s, 1000); o != kv.OK {
		t.Errorf("after the leader's connection was lost: %v, %q", o, text)
	}
	s = begin()
	s.ConnectionLost(int(s.offices[0].leader))
	if o, text := stand(s, s.offices[0].token); o != kv.WrongResponse || text != string(lowTokenText) {
		t.Errorf("a token that is not higher: %v, %q", o, text)
	}
}

// A failed call is repeated after a pause. A failed resignation is repeated only if the candidate's
// node has a unique name. In a race, the node may belong to another candidate by then, so the
// candidate makes a Stand instead.
func TestFailedCallsAreRepeated(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		s, want := newScripted(t, app, 0), Stand
		if app.Queue {
			want = Resign
		}
		n := uint64(0)
		for ; s.schedule.Entries[n].Call == Stand; n++ {
			s.run(n)
		}
		var op store.Op
		s.Prompt(s.now)
		if !s.Ready(n) {
			t.Fatal("the office has no leader")
		}
		ref := s.Fill(measure.Measured, n, 0, &op)
		c := s.candidateOf(n)
		if s.isLeader(c) || op.Call.Parts[0].Action != call.Remove {
			t.Errorf("%d leads, and %+v", ref, op.Call)
		}
		s.OperationFailed(n)
		s.OperationEnded(n, kv.TimedOut, 1000, 900)
		if next, _, ok := s.Prompt(s.now); ok {
			t.Errorf("operation %x is prompted immediately", next)
		}
		s.now = s.NextPrompt()
		next, due, ok := s.Prompt(s.now)
		if !ok || due != s.now || s.candidateOf(next) != c || s.callOf(next) != want {
			t.Errorf("operation %x of candidate %d is prompted at %d, and is due at %d", next, c, s.now, due)
		}
	}
}

// A session's name is preserved when it is split and joined.
func TestSessionNamesRoundTrip(t *testing.T) {
	s := newScripted(t, Application{}, 2)
	const name = "f0e1d2c3-0000-4a5b-8c7d-00ff1234abcd"
	s.storeLease(3, &store.Event{Value: []byte(name)})
	if got := string(s.sessionName(3)); got != name {
		t.Errorf("%s is written as %s", name, got)
	}
}

// A leader whose lease has expired because it was not renewed does not count as a second leader. A
// leader whose lease has ended requests a new lease and stands for election with it.
func TestCandidateReplacesALeaseThatIsGone(t *testing.T) {
	s := newScripted(t, Application{Queue: true}, 1)
	for n, e := range s.schedule.Entries {
		if e.Call == Stand {
			s.run(uint64(n))
		}
	}
	first := int(s.offices[0].leader)
	for c := range s.Candidates {
		s.aliveUntil[c] = int64(s.way.DefaultTTL)
	}
	if wrong := s.becomeLeader((first+1)%s.Candidates, 1<<40); string(wrong) != string(twoLeadersText) {
		t.Errorf("while the leader's lease is valid: %q", wrong)
	}
	s.offices[0].leader, s.Script.now = int32(first), s.aliveUntil[first]+1
	s.aliveUntil[(first+1)%s.Candidates] = s.Script.now // the candidate has renewed its own lease
	if wrong := s.becomeLeader((first+1)%s.Candidates, 1<<41); wrong != nil {
		t.Errorf("after the end of the leader's lease: %q", wrong)
	}
	c := s.Candidates // a candidate for a different office
	s.OperationEnded(s.newNumber(c, plannedRenewal), kv.BadRequest, 1000, 900)
	n, _, ok := s.Prompt(s.now)
	if !ok || s.candidateOf(n) != c || s.callOf(n) != Renew {
		t.Fatalf("the next operation is %x", n)
	}
	var op store.Op
	ref := s.Fill(measure.Measured, n, 0, &op)
	if op.Call.Parts[0].Action != call.Grant {
		t.Errorf("%+v is sent", op.Call)
	}
	if o := s.Check(op.Kind, ref, &store.Event{Count: 77}); o != kv.OK || s.leases[c] != 77 {
		t.Errorf("the outcome is %v, and the candidate's lease is %d, want 77", o, s.leases[c])
	}
	if n, _, ok = s.Prompt(s.now); !ok || s.candidateOf(n) != c || s.callOf(n) != Stand {
		t.Errorf("the next operation is %x", n)
	}
}

// By default, Consul has a health check that ends a session before its TTL has passed if the
// session's member is considered lost. The load would report this early end as an error of the
// store, so it requests sessions without this check.
func TestSessionsHaveNoHealthCheck(t *testing.T) {
	for way, want := range map[int]call.Flags{1: 0, 2: call.NoHealthChecks} {
		s := newScripted(t, Application{}, way)
		var op store.Op
		before, n := s.FirstPreload()
		before.Fill(measure.Measured, n-1, 0, &op)
		if p := op.Call.Parts[0]; p.Action != call.Grant || p.Flags != want {
			t.Errorf("way %d: before the load, the source requests %+v", way, p)
		}
		s.leases[of] = 0
		s.setRenewCall(of, &op)
		if p := s.call.Parts[0]; p.Action != call.Grant || p.Flags != want {
			t.Errorf("way %d: in the load, the source requests %+v", way, p)
		}
	}
}
