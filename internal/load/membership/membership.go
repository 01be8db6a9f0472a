// Package membership sends the load of service discovery by keys that end with their
// sessions (internal/load/app/membership). It is a load.Script for one loop, and for
// one run.
package membership

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	data "github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"

	"github.com/quorumbench/quorumbench/internal/load/tally"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Script is a load of service discovery.
type Script struct {
	schedule *data.Schedule
	setup    app.Setup
	values   *keys.Values
	board    *watch.Board
	calls    tally.Tally

	came, gone []uint32 // by instance: the call by which it comes or goes, and one more; 0: it was not sent
	settled    []bool   // by instance: its registration was answered
}

// New makes the load.
func New(setup app.Setup) *Script {
	s := &Script{schedule: data.NewSchedule(discovery.ConfigOf(setup.Settings, setup.Seed), setup.Length), setup: setup}
	n := s.schedule.All()
	s.came, s.gone, s.settled = make([]uint32, n), make([]uint32, n), make([]bool, n)
	s.values = keys.NewValues(s.schedule.Size, keys.DeriveSeed(setup.Seed, "instances"))
	kinds := s.schedule.Kinds()
	s.calls = tally.New(data.Shapes[:], kinds[:])
	s.board = watch.NewBoard(uint64(n), 1, uint64(len(s.schedule.Entries)))
	return s
}

// Pacer implements load.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Source implements load.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

// Calls implements load.CallCounter.
func (s *Script) Calls() []measure.Calls { return s.calls.Calls() }

// Watching implements load.Watcher: each client has a connection, and so a session, of
// its own, and a watch that stays on each of its services.
func (s *Script) Watching() *watch.Plan {
	d := s.schedule
	w := &watch.Plan{Streams: d.Clients, Connections: d.Clients}
	w.Sink = watch.Config{Board: s.board, Names: (*names)(s)}
	for i := range d.Clients * d.Uses { // the i-th is on stream i modulo the streams
		service := d.Service(i%d.Clients, i/d.Clients)
		w.Sink.Watchers = append(w.Sink.Watchers, watch.Watcher{First: uint64(service * d.Room), Keys: uint64(d.Room)})
	}
	var key, end []byte
	w.Fill = func(n uint32, op *store.Op) {
		key = d.AppendService(key[:0], s.setup.Prefix, d.Service(int(n)%d.Clients, int(n)/d.Clients))
		end = append(end[:0], key...)
		end[len(end)-1]++ // it ends with a slash
		key = append(key, 'i')
		op.Key, op.Watch.End, op.Watch.Mode = key, end, kv.PersistentWatch
	}
	return w
}

// names finds the instance that an event is of, and the call that made or removed it.
type names Script

func (s *names) Number(_ uint32, key []byte) (uint64, bool) {
	n, ok := s.schedule.Number(s.setup.Prefix, key)
	return uint64(n), ok
}

func (s *names) Written(ev *store.Event) (uint64, bool) {
	n, ok := s.schedule.Number(s.setup.Prefix, ev.Key)
	if !ok {
		return 0, false
	}
	by := s.came[n]
	if ev.Version == 0 {
		by = s.gone[n]
	}
	return uint64(by) - 1, by > 0
}
