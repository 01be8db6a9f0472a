package watch

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Plan is what a load watches whose operations are no mix on one key space.
type Plan struct {
	// Sink has the board, and a Watcher for each watcher: the numbers of the keys whose
	// events are held to the writes that were acknowledged.
	Sink Config
	// Streams is over how many watch streams the watchers are spread in turn, and these
	// over the connections: a watcher that has a stream of its own has so many as there
	// are watchers.
	Streams int
	// Connections are for watchers alone; 0 puts them on the load's own.
	Connections int
	// AskEvery is how often a stream is asked how far its watchers have been told, one
	// after the other; 0: never.
	AskEvery time.Duration
	// Silent reports whether a watcher's stream is never asked that; nil: each is.
	Silent func(watcher uint32) bool
	// Acknowledged takes the answer, which is no error, to a write whose Fill returned ref,
	// and that was sent at sent; nil: the source tells the board itself.
	Acknowledged func(kind kv.Kind, ref uint64, sent int64, ev *store.Event)
	// Fill completes the operation that creates a watcher, but for its stream. The memory
	// it gives stays as it is until the next Fill.
	Fill func(watcher uint32, op *store.Op)
}
