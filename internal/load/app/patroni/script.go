package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Script is a load of Patroni clusters. It implements app.Script and app.Model.
type Script struct {
	app.ScriptBase
	app.ModelBase
	Config
	schedule *Schedule
	length   time.Duration
	prefix   []byte
	board    *watch.Board
	calls    app.Tally

	way    way
	states bool     // watch events contain the current state instead of each change
	leader []int16  // by cluster: the member that is leader, or none
	gone   []bool   // by cluster: whether the key of its first leader has been deleted
	raced  []uint32 // by member: 1 + the number of the call with which it raced; 0: none
	asked  []uint32 // by member: 1 + the number of its call in flight; 0: none
	// The member whose call ended last; none if no member had that call in flight.
	ended int

	records *chronicle // nil if the responses are not verified
}

// none means that there is no member.
const none = -1

// New returns the script of a load.
func New(setup app.Setup) *Script {
	return NewWithConfig(ConfigOf(setup.Settings, setup.Seed, Way(setup.Way)), setup)
}

// NewWithConfig returns the script of a load with the given configuration. It ignores the settings
// in setup.
func NewWithConfig(c Config, setup app.Setup) *Script {
	s := &Script{Config: c, schedule: NewSchedule(c, setup.Length), length: setup.Length, prefix: []byte(setup.Prefix)}
	s.way, s.states = wayOf(&s.Config), c.Way == Locks
	s.way.restore(setup.Before)
	s.raced, s.asked = make([]uint32, c.MemberCount()), make([]uint32, c.MemberCount())
	s.leader, s.gone = make([]int16, c.Clusters), make([]bool, c.Clusters)
	kinds := s.schedule.Kinds()
	s.calls = app.NewTally(c.Way.appShapes(), kinds[:])
	for call := range s.calls {
		if c.Way.Bounded(Call(call)) {
			s.calls[call].Bound = int64(c.RetryTime)
		}
	}
	s.board = watch.NewBoard(c.Keys(), 1, uint64(len(s.schedule.Entries)))
	if s.states {
		s.board.ExpectStates()
	}
	return s
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// Pacer implements app.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Kept implements app.Script. It returns the members' leases or sessions.
func (s *Script) Kept() []int64 { return s.way.save() }

// SessionTimeout implements app.Script. In Nodes, a member's own calls keep the session of its
// connection alive.
func (s *Script) SessionTimeout() time.Duration {
	if s.Way == Nodes {
		return s.TTL
	}
	return 0
}

// CallCounts implements app.Script.
func (s *Script) CallCounts() []measure.Calls { return s.calls.Calls() }

// Watching implements app.Script.
func (s *Script) Watching() *watch.Plan {
	n := s.Watchers()
	if n == 0 {
		return nil
	}
	p := &watch.Plan{Sink: watch.Config{Board: s.board, Names: &names{s}}, Streams: n}
	s.way.addWatchers(s, p)
	return p
}

// names finds a watch event's key, and the call that wrote the event.
type names struct{ *Script }

func (w *names) Number(_ uint32, key []byte) (uint64, bool) { return w.Config.Number(w.prefix, key) }

// Written returns the call that wrote a value, if the value identifies the call. It also notices
// the deletion of a leader's key. If a lease expires, each watcher in the cluster receives an event
// that does not belong to any call.
func (w *names) Written(ev *store.Event) (uint64, bool) {
	number, ok := w.Config.Number(w.prefix, ev.Key)
	if !ok {
		return 0, false
	}
	cluster, key := int(number)/w.PerCluster(), Key(int(number)%w.PerCluster())
	if ev.Version == 0 {
		if key == Leader && !w.gone[cluster] {
			w.gone[cluster], w.leader[cluster] = true, none
		}
		return 0, false
	}
	if key != Leader {
		return ParseCallNumber(ev.Value)
	}
	of, member, ok := ParseMemberName(ev.Value)
	if !ok || of != cluster || member >= w.Members {
		return 0, false
	}
	by := w.raced[cluster*w.Members+member]
	return uint64(by) - 1, by > 0
}
