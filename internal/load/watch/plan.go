package watch

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Plan describes the watchers of a load whose operations are not a mix on one key space.
type Plan struct {
	// Sink contains the board and the watchers, with the numbers of the keys whose events are
	// compared with acknowledged writes.
	Sink Config
	// Streams is the number of watch streams. Watchers are assigned to streams in turn, and streams
	// to connections. With as many streams as watchers, each watcher has its own.
	Streams int
	// Connections is the number of connections for watchers only; 0 uses the load's connections.
	Connections int
	// AskEvery is the time between two progress requests, each to the next watcher's stream; 0:
	// none are sent.
	AskEvery time.Duration
	// Silent reports whether a watcher's stream gets no progress requests; nil: every stream does.
	Silent func(watcher uint32) bool
	// Acknowledged handles the response, without an error, to a write that was sent at sent and
	// whose Fill returned ref; nil: the source itself updates the board.
	Acknowledged func(kind kv.Kind, ref uint64, sent int64, ev *store.Event)
	// Fill completes the operation that creates a watcher, except for its stream. The memory that
	// op refers to is valid until the next call.
	Fill func(watcher uint32, op *store.Op)
}
