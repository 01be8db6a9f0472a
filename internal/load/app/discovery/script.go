package discovery

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// script is a load of service discovery. It implements app.Script.
type script struct {
	app.ScriptBase
	schedule *schedule
	setup    app.Setup
	values   *keys.Values
	board    *watch.Board
	calls    app.Tally

	// By instance: 1 + the number of the call that added or removed it; 0: not sent yet.
	addingCall, removingCall []uint32
	unblocked                []bool // by instance: its next call need not wait for an earlier call
	uncertain                []bool // by instance: a call has failed, so the instance's state is unknown
}

func newScript(catalog bool, setup app.Setup) *script {
	s := &script{schedule: newSchedule(newConfig(catalog, setup.Settings, setup.Seed), setup.Prefix, setup.Length), setup: setup}
	n := s.schedule.count()
	s.addingCall, s.removingCall, s.unblocked, s.uncertain = make([]uint32, n), make([]uint32, n), make([]bool, n), make([]bool, n)
	for i := range n {
		s.unblocked[i] = s.schedule.existsAtStart(i)
	}
	s.values = keys.NewValues(s.schedule.size, keys.DeriveSeed(setup.Seed, "instances"))
	s.calls = app.NewTally(callShapes(catalog), s.schedule.countByKind())
	s.board = watch.NewBoard(uint64(n), 1, uint64(len(s.schedule.entries)))
	if catalog {
		s.board.ExpectStates()
	}
	return s
}

// Pacer implements app.Script.
func (s *script) Pacer() pace.Pacer { return pace.Listed(s.schedule.due) }

// CallCounts implements app.Script.
func (s *script) CallCounts() []measure.Calls { return s.calls.Calls() }

// WatchPlan implements app.Script. In membership, each client has one connection, and therefore one
// session, with a persistent watch on each of its services. In a catalog, a client has a blocking
// query for each service, and a connection for each query.
func (s *script) WatchPlan() *watch.Plan {
	d := s.schedule
	w := &watch.Plan{Streams: d.streams(), Connections: d.streams()}
	w.Sink = watch.Config{Board: s.board, Identifier: (*eventIdentifier)(s), States: d.catalog}
	for i := range d.clients * d.servicesPerClient { // watcher i is on stream i modulo the number of streams
		service := d.serviceForClient(i%d.clients, i/d.clients)
		w.Sink.Watchers = append(w.Sink.Watchers, watch.Watcher{First: uint64(service * d.numbersPerService), Keys: uint64(d.numbersPerService)})
	}
	if d.catalog {
		w.OnAcknowledged = s.noteChange
	}
	var key, end []byte
	w.Fill = func(n uint32, op *store.Op) {
		key = d.appendService(key[:0], d.serviceForClient(int(n)%d.clients, int(n)/d.clients))
		if d.catalog {
			op.Key, op.Watch.Service, op.Watch.Mode = key, true, kv.QueryWatch
			return
		}
		end = append(append(end[:0], key...), d.slash+1)
		key = append(key, d.slash, 'i')
		op.Key, op.Watch.End, op.Watch.Mode = key, end, kv.PersistentWatch
	}
	return w
}

// noteChange records an acknowledged change to a catalog on the board, so that the watchers are
// expected to report it. If an earlier call for the instance failed, the change may have no effect.
// For example, if a check never became critical, the call that reports it as passing changes
// nothing.
func (s *script) noteChange(_ kv.Kind, n uint64, sent int64, ev *store.Event) {
	switch e := s.schedule.entries[n]; {
	case e.call == Compare || ev.Outcome != kv.OK:
	case s.uncertain[e.object]:
		s.board.AcknowledgeUncertain(uint64(e.object))
	default:
		s.board.AcknowledgeSent(uint64(e.object), sent)
	}
}

// eventIdentifier finds a watch event's instance, and the call that caused the event.
type eventIdentifier script

func (s *eventIdentifier) Number(_ uint32, key []byte) (uint64, bool) {
	n, ok := s.schedule.number(key)
	return uint64(n), ok
}

func (s *eventIdentifier) WriteNumber(ev *store.Event) (uint64, bool) {
	n, ok := s.schedule.number(ev.Key)
	if !ok {
		return 0, false
	}
	by := s.addingCall[n]
	if ev.Version == 0 {
		by = s.removingCall[n]
	}
	return uint64(by) - 1, by > 0
}
