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

	way              way
	reportsStates    bool     // watch events contain the current state instead of each change
	leaders          []int16  // by cluster: the member that is leader, or none
	leaderKeyDeleted []bool   // by cluster: whether the key of its first leader has been deleted
	racingCall       []uint32 // by member: 1 + the number of the call with which it raced; 0: none
	pendingCall      []uint32 // by member: 1 + the number of its call in flight; 0: none
	// The member whose call ended last; none if no member had that call in flight.
	endedMember int

	chronicle *chronicle // nil if the responses are not verified
}

// none means that there is no member.
const none = -1

// New returns the script of a load.
func New(setup app.Setup) *Script {
	return NewWithConfig(NewConfig(setup.Settings, setup.Seed, Way(setup.Way)), setup)
}

// NewWithConfig returns the script of a load with the given configuration. It ignores the settings
// in setup.
func NewWithConfig(c Config, setup app.Setup) *Script {
	s := &Script{Config: c, schedule: NewSchedule(c, setup.Length), length: setup.Length, prefix: []byte(setup.Prefix)}
	s.way, s.reportsStates = newWay(&s.Config), c.Way == Locks
	s.way.restore(setup.PreloadResults)
	s.racingCall, s.pendingCall = make([]uint32, c.MemberCount()), make([]uint32, c.MemberCount())
	s.leaders, s.leaderKeyDeleted = make([]int16, c.Clusters), make([]bool, c.Clusters)
	kinds := s.schedule.CountByKind()
	s.calls = app.NewTally(c.Way.appShapes(), kinds[:])
	for call := range s.calls {
		if c.Way.Bounded(Call(call)) {
			s.calls[call].Limit = int64(c.RetryTimeout)
		}
	}
	s.board = watch.NewBoard(c.Keys(), 1, uint64(len(s.schedule.Entries)))
	if s.reportsStates {
		s.board.ExpectStates()
	}
	return s
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// Pacer implements app.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// PreloadResults implements app.Script. It returns the members' leases or sessions.
func (s *Script) PreloadResults() []int64 { return s.way.save() }

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

// WatchPlan implements app.Script.
func (s *Script) WatchPlan() *watch.Plan {
	n := s.WatcherCount()
	if n == 0 {
		return nil
	}
	p := &watch.Plan{Sink: watch.Config{Board: s.board, Identifier: &eventIdentifier{s}}, Streams: n}
	s.way.addWatchers(s, p)
	return p
}

// eventIdentifier finds a watch event's key, and the call that caused the event.
type eventIdentifier struct{ *Script }

func (w *eventIdentifier) Number(_ uint32, key []byte) (uint64, bool) {
	return w.Config.Number(w.prefix, key)
}

// WriteNumber returns the number of the call that wrote the value in an event, if the value
// identifies the call. It also notices the deletion of a leader's key. If a lease expires, each
// watcher in the cluster receives an event that does not belong to any call.
func (w *eventIdentifier) WriteNumber(ev *store.Event) (uint64, bool) {
	number, ok := w.Config.Number(w.prefix, ev.Key)
	if !ok {
		return 0, false
	}
	cluster, key := int(number)/w.KeysPerCluster(), Key(int(number)%w.KeysPerCluster())
	if ev.Version == 0 {
		if key == Leader && !w.leaderKeyDeleted[cluster] {
			w.leaderKeyDeleted[cluster], w.leaders[cluster] = true, none
		}
		return 0, false
	}
	if key != Leader {
		return ParseCallNumber(ev.Value)
	}
	nameCluster, member, ok := ParseMemberName(ev.Value)
	if !ok || nameCluster != cluster || member >= w.Members {
		return 0, false
	}
	by := w.racingCall[cluster*w.Members+member]
	return uint64(by) - 1, by > 0
}
