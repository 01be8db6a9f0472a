// Package app has what the applications share that a load can be shaped like. Each has a
// package of its own below this one, with its schedule, its script and its model, and a line
// in package registry.
package app

import (
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"time"
)

// Application is what a scenario knows of an application, and what sends its load.
type Application interface {
	application.Application
	// Script makes one load of the application.
	Script(Setup) Script
}

// Setup is what a script is made from.
type Setup struct {
	Settings application.Settings
	Way      int // an index in the Definition's
	Seed     uint64
	Length   time.Duration // of the window, in which calls become due
	Prefix   string        // what its keys begin with
	// Connections is how many there are, by their numbers from 0.
	Connections int
	// Before is what the script that prepared the load has kept (Script.Kept); nil where
	// that is still to be done.
	Before []int64
	// Confined says that the cluster ran before: all keys have the prefix. What affects
	// the whole cluster is done if ClusterWide allows it.
	Confined, ClusterWide bool
}

// Script is a load that lists its operations, instead of drawing them from a mix, keys and
// arrivals. It is for one worker with one loop, and for one run. ScriptBase implements what
// many scripts do not need.
type Script interface {
	// Source has the operations of the window, and Pacer says when they are due.
	Source() engine.Source
	Pacer() pace.Pacer
	// Before has n operations that are done before the load, in no order, so that the
	// store is as the first operation of the window needs it.
	Before() (s engine.Source, n uint64)
	// After has n operations that are done between those and the load, in no order.
	After() (s engine.Source, n uint64)
	// Kept returns what the operations of Before and After taught, such as the revisions of
	// keys or the numbers of leases. It is given to the script that sends the load, which
	// may be in another process (Setup.Before).
	Kept() []int64
	// CallCounts returns what became of each kind of call, when the load has ended.
	CallCounts() []measure.Calls
	// Watching returns what is watched during the load; nil: nothing. The scenario's Watch
	// then says how many watchers there are.
	Watching() *watch.Plan
	// SessionTimeout returns how long the sessions of the load's connections live without
	// the script's own operations, of a store where each connection has a session; 0: the
	// connections keep their sessions alive.
	SessionTimeout() time.Duration
	// Model returns what the load's answers are checked by; nil: nothing is.
	Model() Model
}

// ScriptBase implements the methods of Script that a script can do without.
type ScriptBase struct{}

// After implements Script: nothing.
func (ScriptBase) After() (engine.Source, uint64) { return nil, 0 }

// Kept implements Script: nothing.
func (ScriptBase) Kept() []int64 { return nil }

// CallCounts implements Script: none is counted.
func (ScriptBase) CallCounts() []measure.Calls { return nil }

// Watching implements Script: nothing.
func (ScriptBase) Watching() *watch.Plan { return nil }

// SessionTimeout implements Script: the connections keep their sessions alive.
func (ScriptBase) SessionTimeout() time.Duration { return 0 }

// Model implements Script: the answers cannot be checked.
func (ScriptBase) Model() Model { return nil }

// Model says what the calls of an application do with its keys, and what their answers say of
// those, for the checker, which knows keys alone. ModelBase implements how keys are read.
type Model interface {
	// Keys returns how many keys there are, numbered from 0.
	Keys() uint64
	// AppendKey appends the key with a number.
	AppendKey(b []byte, number uint64) []byte
	// Steps returns what records each call and event of a load, and each read after it, as
	// steps of keys.
	Steps(to *history.Recorder) Steps
	// MakeRead changes the read of a key after the load, which is a get of it, where the
	// application's keys are read otherwise.
	MakeRead(number uint64, op *store.Op)
	// Exists reports whether a successful answer to such a read says that the
	// key is there.
	Exists(ev *store.Event) bool
}

// Steps records what happens to the keys of an application.
type Steps interface {
	engine.History
	// Read takes the read of the key with a number after the load; o lacks its key and what
	// it read.
	Read(number uint64, ev *store.Event, o *history.Op)
}

// ModelBase implements how keys are read after a load where they are keys of the store.
type ModelBase struct{}

// MakeRead implements Model: a get is right.
func (ModelBase) MakeRead(uint64, *store.Op) {}

// Exists implements Model: what is not there is a miss.
func (ModelBase) Exists(*store.Event) bool { return true }
