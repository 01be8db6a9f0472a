// Package catalog sends the load of service discovery by a catalog of services and their
// health checks (internal/load/app/catalog). It is a load.Script for one loop, and for
// one run.
package catalog

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/catalog"
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

	came, gone []uint32 // by instance: the call by which it is there, or is not, and one more; 0: none was sent
	settled    []bool   // by instance: the call that it needs next was answered
	unsure     []bool   // by instance: a call has failed, so that what it is now is not known

	readID      []byte // of reads after the load
	readService store.ServiceOp
}

// New makes the load.
func New(setup app.Setup) *Script {
	s := &Script{schedule: data.NewSchedule(data.ConfigOf(setup.Settings, setup.Seed), setup.Length), setup: setup}
	n := s.schedule.All()
	s.came, s.gone, s.settled, s.unsure = make([]uint32, n), make([]uint32, n), make([]bool, n), make([]bool, n)
	for i := range n {
		s.settled[i] = s.schedule.Before(i)
	}
	s.values = keys.NewValues(s.schedule.Size, keys.DeriveSeed(setup.Seed, "instances"))
	kinds := s.schedule.Kinds()
	s.calls = tally.New(data.Shapes[:], kinds[:])
	s.board = watch.NewBoard(uint64(n), 1, uint64(len(s.schedule.Entries)))
	s.board.TellStates()
	return s
}

// Pacer implements load.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Source implements load.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

// Before implements load.Script: the instances that are there when the load begins.
func (s *Script) Before() (engine.Source, uint64) {
	return &before{source: source{Script: s}}, uint64(s.schedule.There())
}

// Calls implements load.CallCounter.
func (s *Script) Calls() []measure.Calls { return s.calls.Calls() }

// Watching implements load.Watcher: each client has a blocking query, and so a
// connection, for each service that it uses.
func (s *Script) Watching() *watch.Plan {
	d := s.schedule
	n := d.Clients * d.Uses
	w := &watch.Plan{Streams: n, Connections: n, Acknowledged: s.acknowledged}
	w.Sink = watch.Config{Board: s.board, Names: (*names)(s), States: true}
	for i := range n {
		service := d.Service(i%d.Clients, i/d.Clients)
		w.Sink.Watchers = append(w.Sink.Watchers, watch.Watcher{First: uint64(service * d.Room), Keys: uint64(d.Room)})
	}
	var name []byte
	w.Fill = func(i uint32, op *store.Op) {
		name = d.AppendService(name[:0], s.setup.Prefix, d.Service(int(i)%d.Clients, int(i)/d.Clients))
		op.Key, op.Watch.Service, op.Watch.Mode = name, true, kv.QueryWatch
	}
	return w
}

// acknowledged notes for the watchers what was done. Where a call failed before, it may
// be that nothing changed: a check that passes, and never was critical, shows nothing.
func (s *Script) acknowledged(_ kv.Kind, n uint64, sent int64, ev *store.Event) {
	switch e := s.schedule.Entries[n]; {
	case e.Call == data.Compare || ev.Outcome != kv.OK:
	case s.unsure[e.Object]:
		s.board.AcknowledgeUnsure(uint64(e.Object))
	default:
		s.board.AcknowledgeSent(uint64(e.Object), sent)
	}
}

// names finds the instance that an event is of, and the call that made it so.
type names Script

func (s *names) Number(_ uint32, id []byte) (uint64, bool) {
	n, ok := s.schedule.Number(s.setup.Prefix, id)
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
