package watch

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Plan describes the watchers of a load that does not choose its operations from a mix over a
// single key space.
type Plan struct {
	// Sink contains the board and the watchers. Each watcher contains the numbers of the keys whose
	// events are compared with acknowledged writes.
	Sink Config
	// Streams is the number of watch streams. Watchers are assigned to streams in turn, and streams
	// to connections. If there are as many streams as watchers, each watcher has its own stream.
	Streams int
	// Connections is the number of connections that only watchers use. If it is 0, watchers use the
	// load's connections.
	Connections int
	// ProgressInterval is the time between two progress requests. Successive requests go to the
	// streams of successive watchers. If it is 0, the load sends no progress requests.
	ProgressInterval time.Duration
	// SkipsProgress reports whether the load sends no progress requests on a watcher's stream. If
	// SkipsProgress is nil, the load sends them on every stream.
	SkipsProgress func(watcher uint32) bool
	// OnAcknowledged handles a successful response to a write. `ref` is the value that Fill
	// returned for the write, and `sent` is the time at which the write was sent. If OnAcknowledged
	// is nil, the source itself updates the board.
	OnAcknowledged func(kind kv.Kind, ref uint64, sent int64, ev *store.Event)
	// Fill sets all fields of the operation that creates a watcher, except for the watcher's
	// stream. The memory to which op refers must stay valid until the next call of Fill.
	Fill func(watcher uint32, op *store.Op)
}
