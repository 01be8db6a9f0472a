// Package patroni sends what many members of Patroni clusters send to their store
// (internal/application/patroni), each member over a connection of its own and with a
// watcher of its own, and knows what they know: their leases, and who leads. It is a
// load.Script for one loop, and for one run.
package patroni

import (
	"github.com/quorumbench/quorumbench/internal/application"
	"github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/run/load/pace"
	"github.com/quorumbench/quorumbench/internal/run/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Script is a load of many Patroni clusters.
type Script struct {
	patroni.Config
	schedule *patroni.Schedule
	prefix   []byte
	board    *watch.Board
	calls    [patroni.NumCalls]measure.Calls

	leases []int64  // by member; 0: it has none
	leader []int16  // by cluster: the member that leads; nobody
	gone   []bool   // by cluster: the key of its first leader is gone
	raced  []uint32 // by member: the call by which it raced, and one more
	asked  []uint32 // by member: the call that it waits for, and one more; 0: none
	ended  int      // the member whose call ended last; nobody: it has another under way
}

// nobody leads a cluster.
const nobody = -1

// New makes the load of many Patroni clusters.
func New(setup application.Setup) *Script {
	return Of(patroni.ConfigOf(setup.Settings, setup.Seed), setup)
}

// Of is New of a configuration.
func Of(c patroni.Config, setup application.Setup) *Script {
	s := &Script{Config: c, schedule: patroni.NewSchedule(c, setup.Length), prefix: []byte(setup.Prefix)}
	s.leases, s.raced, s.asked = make([]int64, c.All()), make([]uint32, c.All()), make([]uint32, c.All())
	copy(s.leases, setup.Before)
	s.leader, s.gone = make([]int16, c.Clusters), make([]bool, c.Clusters)
	for call, due := range s.schedule.Kinds() {
		kind, level := patroni.Call(call).Kind()
		s.calls[call] = measure.NewCalls(patroni.Call(call).String(), kind, level)
		s.calls[call].Due = due
	}
	for _, renewal := range []patroni.Call{patroni.RenewLeader, patroni.RenewReplica} {
		s.calls[renewal].Bound = int64(c.RetryTime)
	}
	s.board = watch.NewBoard(c.Keys(), 1, uint64(len(s.schedule.Entries)))
	return s
}

// Pacer implements load.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Source implements load.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

// Kept implements load.Keeper: the lease of each member.
func (s *Script) Kept() []int64 { return s.leases }

// Calls implements load.Teller: what became of each kind of call that was due.
func (s *Script) Calls() (all []measure.Calls) {
	for i := range s.calls {
		if s.calls[i].Due > 0 {
			all = append(all, s.calls[i])
		}
	}
	return all
}

// Watching implements load.Watcher: each member watches its cluster's keys, on a
// connection of its own, from now on.
func (s *Script) Watching() *watch.Plan {
	all := s.All()
	p := &watch.Plan{Sink: watch.Config{Board: s.board, Names: &names{s}}, Streams: all, Connections: all}
	for i := range all {
		cluster := i / s.Members
		p.Sink.Watchers = append(p.Sink.Watchers, watch.Watcher{First: uint64(cluster * s.PerCluster()), Keys: uint64(s.PerCluster())})
	}
	var key, end []byte
	p.Fill = func(n uint32, op *store.Op) {
		key = patroni.AppendScope(key[:0], s.prefix, int(n)/s.Members)
		end = append(end[:0], key...)
		end[len(end)-1]++ // it ends with a slash
		op.Key, op.Watch.End = key, end
	}
	return p
}

// names finds the key that an event is of, and the call that wrote it.
type names struct{ *Script }

func (w *names) Number(_ uint32, key []byte) (uint64, bool) { return w.Config.Number(w.prefix, key) }

// Written finds the call by what the value says. It learns that a leader's key is gone: a
// lease has expired, which is nobody's call and an event for each of the cluster's
// watchers.
func (w *names) Written(ev *store.Event) (uint64, bool) {
	number, ok := w.Config.Number(w.prefix, ev.Key)
	if !ok {
		return 0, false
	}
	cluster, key := int(number)/w.PerCluster(), patroni.Key(int(number)%w.PerCluster())
	if ev.Version == 0 {
		if key == patroni.Leader && !w.gone[cluster] {
			w.gone[cluster], w.leader[cluster] = true, nobody
		}
		return 0, false
	}
	if key != patroni.Leader {
		return patroni.Written(ev.Value)
	}
	of, member, ok := patroni.Member(ev.Value)
	if !ok || of != cluster || member >= w.Members {
		return 0, false
	}
	by := w.raced[cluster*w.Members+member]
	return uint64(by) - 1, by > 0
}
