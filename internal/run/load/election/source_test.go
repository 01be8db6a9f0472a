package election

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/application"
	data "github.com/quorumbench/quorumbench/internal/application/election"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testsettle"
)

// scripted is a load whose answers come from a model of the store: nodes of one name, or
// in the order of their numbers.
type scripted struct {
	*source
	t       *testing.T
	zxid    int64
	queues  [][]int32 // by office: the candidates, in the order of their numbers
	numbers []int64   // by candidate: its node's number
	value   []byte
	waiting []bool // by candidate: it is told when who is before it is gone
	now     int64
	op      store.Op
	ev      store.Event
}

func newScripted(t *testing.T, app data.Application) *scripted {
	s := &scripted{t: t}
	settings := application.Settings{"elections": 3, "candidates": 4, "tenure": 1}
	script := New(app, application.Setup{Settings: settings, Length: 20 * time.Second, Prefix: "p/"})
	s.source = script.Source().(*source)
	s.queues, s.numbers, s.waiting = make([][]int32, script.Offices), make([]int64, script.All()), make([]bool, script.All())
	for i := range s.queues {
		s.queues[i] = make([]int32, 0, script.Candidates)
	}
	return s
}

var somethingElse = []byte("something else")

// run sends one operation and all that it prompts.
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

// answer sends an operation, and answers it.
func (s *scripted) answer(n uint64) {
	op, ev := &s.op, &s.ev
	if s.Place(n) < 0 {
		s.t.Fatalf("operation %d has no place", n)
	}
	ref := s.Fill(measure.Measured, n, 0, op)
	c, call := s.whose(n), s.what(n)
	queue := &s.queues[c/s.Candidates]
	s.zxid++
	*ev = store.Event{At: s.zxid, Count: 1}
	gone := int32(nobody)
	switch {
	case call == data.Resign:
		gone = int32(c)
		*queue = append((*queue)[:0], (*queue)[1:]...)
	case call == data.Stand && s.way.Recipe == data.EphemeralRace && len(*queue) > 0:
		ev.Outcome = kv.Conflict
	case call == data.Stand:
		*queue = append(*queue, int32(c))
		s.numbers[c] = s.zxid
		if s.way.Recipe == data.EphemeralQueue {
			s.node(c, s.zxid+1)
			ev.Key = s.key
		}
	case call == data.Look:
		keys := op.Range.Keys
		keys.Begin(0)
		for i := range *queue {
			of := (*queue)[len(*queue)-1-i]
			s.node(int(of), s.numbers[of]+1)
			keys.Add(0, s.key[len("p/e000000/"):], nil, 0)
		}
		keys.Add(0, somethingElse, nil, 0)
	default:
		s.waiting[c] = true
		s.value = data.AppendCandidate(s.value[:0], int((*queue)[0]))
		ev.Value = s.value
	}
	if o := s.Check(op.Kind, ref, ev); o == kv.WrongAnswer {
		s.t.Fatalf("%s: %s", s.way.Shapes[call].Name, ev.Text)
	}
	s.Ended(n, ev.Outcome, 1000, 900)
	if gone == nobody {
		return
	}
	for w := range s.waiting {
		if s.waiting[w] && w/s.Candidates == c/s.Candidates && (s.way.Recipe == data.EphemeralRace || s.candidates[w].ahead == gone) {
			s.waiting[w] = false
			*ev = store.Event{What: store.Notify, Watcher: uint32(w)}
			s.Told(ev)
		}
	}
}

// Neither making a call, nor learning from its answer, nor being told allocates; each
// handover takes the calls of the profile.
func TestElectionsDoNotAllocate(t *testing.T) {
	testsettle.Unraced(t)
	for _, app := range []data.Application{{}, {Queue: true}} {
		s := newScripted(t, app)
		n := uint64(0)
		for ; s.schedule.Entries[n].Call == data.Stand; n++ {
			s.run(n)
		}
		if got := testing.AllocsPerRun(20, func() {
			s.run(n)
			n++
		}); got != 0 {
			t.Errorf("%+v: %v allocations in a handover", app, got)
		}
		handovers := s.handover.Outcomes[kv.OK]
		if handovers < 20 || s.wrongs > 0 {
			t.Errorf("%+v: %d handovers, and %d wrong answers", app, handovers, s.wrongs)
		}
		for call, want := range s.way.PerHandover(float64(s.Candidates)) {
			if got := s.calls[call].Spanned; float64(got) != want*float64(handovers) {
				t.Errorf("%+v: %d calls %q in %d handovers, want %v each", app, got, s.way.Shapes[call].Name, handovers, want)
			}
		}
	}
}

// A candidate that is told that it leads while another does, or with a token that is not
// above that of the leader before, got a wrong answer; after the other's connection was
// lost it did not.
func TestTwoThatLeadAtOnceAreAWrongAnswer(t *testing.T) {
	begin := func() *scripted {
		s := newScripted(t, data.Application{})
		for n := range uint64(12) {
			s.run(n)
		}
		return s
	}
	stand := func(s *scripted, at int64) (kv.Outcome, string) {
		leader := int(s.offices[0].fenced)
		c := (leader + 1) % s.Candidates
		s.want(c, data.Stand, false)
		ref := reference(c, data.Stand)
		ev := store.Event{At: at}
		o := s.Check(kv.Ephemeral, ref, &ev)
		return o, string(ev.Text)
	}
	s := begin()
	if o, text := stand(s, 1000); o != kv.WrongAnswer || text != string(twoLead) || s.wrongs != 1 {
		t.Errorf("two lead: %v, %q", o, text)
	}
	s = begin()
	s.Lost(int(s.offices[0].leader))
	if o, text := stand(s, 1000); o != kv.OK {
		t.Errorf("after the leader's connection was lost: %v, %q", o, text)
	}
	s = begin()
	s.Lost(int(s.offices[0].leader))
	if o, text := stand(s, s.offices[0].token); o != kv.WrongAnswer || text != string(tokenBack) {
		t.Errorf("a token that is not above: %v, %q", o, text)
	}
}

// A call that failed is made again after a pause: a resignation as such, and a node that
// was made all the same is known again by who made it.
func TestFailedCallsAreMadeAgain(t *testing.T) {
	for _, app := range []data.Application{{}, {Queue: true}} {
		s := newScripted(t, app)
		n := uint64(0)
		for ; s.schedule.Entries[n].Call == data.Stand; n++ {
			s.run(n)
		}
		var op store.Op
		s.Prompt(s.now)
		if !s.Ready(n) {
			t.Fatal("nobody leads")
		}
		ref := s.Fill(measure.Measured, n, 0, &op)
		c := s.whose(n)
		if s.leader(c) || op.Call.Parts[0].Action != recording.Remove {
			t.Errorf("%d leads, and %+v", ref, op.Call)
		}
		s.Failed(n)
		s.Ended(n, kv.TimedOut, 1000, 900)
		if next, _, ok := s.Prompt(s.now); ok {
			t.Errorf("operation %x is made at once", next)
		}
		s.now = s.Prompts()
		next, due, ok := s.Prompt(s.now)
		if !ok || due != s.now || s.whose(next) != c || s.what(next) != data.Resign {
			t.Errorf("operation %x of %d is made at %d, and is due since %d", next, c, s.now, due)
		}
	}
}
