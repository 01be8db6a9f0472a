// Package app defines what the applications have in common that a load can imitate. Each
// application has its own package below this one with its schedule, script and model, and a line
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

// Application describes an application to a scenario and makes the scripts that send its load.
type Application interface {
	application.Application
	// Script returns a new script for one load of the application.
	Script(Setup) Script
}

// Setup holds the parameters of a script.
type Setup struct {
	Settings application.Settings
	Way      int // index in Definition.Ways
	Seed     uint64
	Length   time.Duration // of the measurement window, in which calls become due
	Prefix   string        // prefix of the application's keys
	// Connections is the number of connections, which are numbered from 0.
	Connections int
	// Before holds the values that the script which prepared the load has kept (Script.Kept);
	// nil if the load is not prepared yet.
	Before []int64
	// Confined reports whether the cluster is in use by others, so that all keys need the
	// prefix. A script acts on the whole cluster then only if ClusterWide allows it.
	Confined, ClusterWide bool
}

// Script is a load that lists its operations, instead of drawing them from a mix, keys and
// arrivals. It serves one worker with one loop, for one run. ScriptBase implements the methods
// that many scripts do not need.
type Script interface {
	// Source returns the operations of the window, and Pacer the times at which they become due.
	Source() engine.Source
	Pacer() pace.Pacer
	// Before returns n operations, in any order, that prepare the store for the first operation
	// of the window.
	Before() (s engine.Source, n uint64)
	// After returns n operations, in any order, that run after those of Before and before the
	// load.
	After() (s engine.Source, n uint64)
	// Kept returns values that the operations of Before and After have learned, such as
	// revisions of keys or IDs of leases. The script that sends the load receives them in
	// Setup.Before, perhaps in another process.
	Kept() []int64
	// CallCounts returns the outcomes and times of each kind of call after the load has ended.
	CallCounts() []measure.Calls
	// Watching returns the watchers to run during the load; nil for none. The scenario's Watch
	// then sets how many.
	Watching() *watch.Plan
	// SessionTimeout returns how long a connection's session lives without the script's own
	// operations, in a store where each connection has a session. 0 means that the connections
	// keep their sessions alive themselves.
	SessionTimeout() time.Duration
	// Model returns the model that verifies the load's responses; nil if they are not verified.
	Model() Model
}

// ScriptBase implements the optional methods of Script.
type ScriptBase struct{}

// After implements Script and returns no operations.
func (ScriptBase) After() (engine.Source, uint64) { return nil, 0 }

// Kept implements Script and returns nothing.
func (ScriptBase) Kept() []int64 { return nil }

// CallCounts implements Script and returns no counts.
func (ScriptBase) CallCounts() []measure.Calls { return nil }

// Watching implements Script and returns no watchers.
func (ScriptBase) Watching() *watch.Plan { return nil }

// SessionTimeout implements Script: the connections keep their sessions alive.
func (ScriptBase) SessionTimeout() time.Duration { return 0 }

// Model implements Script: the responses are not verified.
func (ScriptBase) Model() Model { return nil }

// Model describes how an application's calls and their responses affect its keys. The verifier
// only knows keys. ModelBase implements reads of plain keys.
type Model interface {
	// Keys returns the number of keys, which are numbered from 0.
	Keys() uint64
	// AppendKey appends the key with the given number.
	AppendKey(b []byte, number uint64) []byte
	// Steps returns a recorder that translates each call and watch event of a load, and each
	// read after it, into steps of keys.
	Steps(to *history.Recorder) Steps
	// MakeRead changes op, a get of a key after the load, if the application reads its keys in
	// another way.
	MakeRead(number uint64, op *store.Op)
	// Exists reports whether a successful response to such a read means that the key exists.
	Exists(ev *store.Event) bool
}

// Steps records the changes and reads of an application's keys.
type Steps interface {
	engine.History
	// Read records the response to the read of a key after the load. It sets the key and the
	// value read in o.
	Read(number uint64, ev *store.Event, o *history.Op)
}

// ModelBase implements reads after the load for an application whose keys are keys of the store.
type ModelBase struct{}

// MakeRead implements Model and leaves the get as it is.
func (ModelBase) MakeRead(uint64, *store.Op) {}

// Exists implements Model: a missing key is a miss, not a success.
func (ModelBase) Exists(*store.Event) bool { return true }
