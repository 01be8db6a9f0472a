// Package app defines what all applications have in common. An application is a load that imitates
// a program that uses a store. Each application has a package below this one, with its schedule,
// script and model, and an entry in the list of applications in package load.
package app

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Application describes an application for use in scenarios, and creates the scripts that send its
// load.
type Application interface {
	application.Application
	// Script returns a new script for one load of the application.
	Script(Setup) Script
}

// Setup holds the parameters with which a script is created.
type Setup struct {
	Settings application.Settings
	Way      int // index in Definition.Ways
	Seed     uint64
	Length   time.Duration // of the measurement window
	Prefix   string        // prefix of the application's keys
	// Connections is the number of the load's connections. They are numbered from 0.
	Connections int
	// PreloadResults holds the values that Script.PreloadResults returned for the script that
	// prepared the load. It is nil if the load is not prepared yet.
	PreloadResults []int64
	// Confined is set if other clients use the cluster, so that all keys need the prefix. In a
	// confined cluster, a script may affect keys of the whole cluster only if ClusterWide is set.
	Confined, ClusterWide bool
}

// Script is a load that defines each of its operations. Other loads draw their operations from a
// mix, a key distribution and an arrival process. A script is used for one run by a single worker
// with a single event loop. ScriptBase implements the methods that many scripts do not need.
type Script interface {
	// Source returns the operations in the window, and Pacer returns their due times.
	Source() engine.Source
	Pacer() pace.Pacer
	// FirstPreload returns a source with n operations that prepare the store for the load. They may
	// be executed in any order.
	FirstPreload() (s engine.Source, n uint64)
	// SecondPreload returns a source with n operations that are executed after the operations of
	// FirstPreload and before the load. They may be executed in any order.
	SecondPreload() (s engine.Source, n uint64)
	// PreloadResults returns values that the operations of FirstPreload and SecondPreload have
	// obtained, such as revisions of keys or IDs of leases. The script that sends the load receives
	// these values in Setup.PreloadResults, because it may run in a different process.
	PreloadResults() []int64
	// CallCounts returns the outcomes and times of each kind of call. It is called after the load
	// has ended.
	CallCounts() []measure.Calls
	// WatchPlan returns the watchers that run during the load, or nil for none. The scenario's
	// Watch parameter determines their number.
	WatchPlan() *watch.Plan
	// SessionTimeout returns the session timeout for stores in which each connection has a session.
	// If the timeout is not 0, the script itself must keep the sessions alive. If it is 0, the
	// connections keep their sessions alive.
	SessionTimeout() time.Duration
	// Model returns the model that is used to verify the load's responses, or nil if they are not
	// verified.
	Model() Model
}

// ScriptBase implements the optional methods of Script.
type ScriptBase struct{}

// SecondPreload implements Script and returns no operations.
func (ScriptBase) SecondPreload() (engine.Source, uint64) { return nil, 0 }

// PreloadResults implements Script and returns nothing.
func (ScriptBase) PreloadResults() []int64 { return nil }

// CallCounts implements Script and returns no counts.
func (ScriptBase) CallCounts() []measure.Calls { return nil }

// WatchPlan implements Script and returns no watchers.
func (ScriptBase) WatchPlan() *watch.Plan { return nil }

// SessionTimeout implements Script. It returns 0, so the connections keep their sessions alive.
func (ScriptBase) SessionTimeout() time.Duration { return 0 }

// Model implements Script. It returns nil, so the responses are not verified.
func (ScriptBase) Model() Model { return nil }

// Model translates an application's calls and their responses into operations on keys, because the
// verifier knows only keys. ModelBase implements the methods that read plain keys.
type Model interface {
	// Keys returns the number of keys. They are numbered from 0.
	Keys() uint64
	// AppendKey appends the key with the given number.
	AppendKey(b []byte, number uint64) []byte
	// NewKeyRecorder returns a recorder that translates a load's calls and watch events, and the
	// reads after the load, into operations on keys.
	NewKeyRecorder(recorder *history.Recorder) KeyRecorder
	// MakeRead is called with op, a get of the key with the given number that will be sent after
	// the load. MakeRead changes op if the application reads its keys with a different operation.
	MakeRead(number uint64, op *store.Op)
	// Exists reports whether a successful response to a read after the load means that the key
	// exists.
	Exists(ev *store.Event) bool
}

// KeyRecorder records how an application's keys are changed and read.
type KeyRecorder interface {
	engine.History
	// Read records the response to a read of a key after the load. o is complete except for the key
	// and the value that was read.
	Read(number uint64, ev *store.Event, o *history.Op)
}

// ModelBase implements MakeRead and Exists for applications whose keys are single keys in the
// store.
type ModelBase struct{}

// MakeRead implements Model. It does not change the get.
func (ModelBase) MakeRead(uint64, *store.Op) {}

// Exists implements Model. It always returns true, because a get of a key that does not exist is a
// miss and not a success.
func (ModelBase) Exists(*store.Event) bool { return true }
