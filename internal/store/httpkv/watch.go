package httpkv

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Watcher is an optional interface of an API whose watches are queries that wait: a
// connection has one watcher, and sends the next query when the one before it was
// answered.
type Watcher interface {
	// Watch sends the query that a watcher begins with.
	Watch(op *store.Op)
	// Told takes the answer to a query. It appends what the watcher is told and sends
	// the next query, unless the watcher has ended or the connection takes no more.
	Told(r *http1.Response, to []store.Event) []store.Event
}

// Waits reports whether the connection is a watcher's.
func (d Doing) Waits() bool { return d == waiting }

// beginWatch begins a watcher, whose answers come until the connection ends.
func (c *Codec) beginWatch(op *store.Op) {
	c.Doing = waiting
	c.api.(Watcher).Watch(op)
}

// Keeper is an optional interface of an API that has sessions or leases.
type Keeper interface {
	// KeepAlive sends a request that keeps one alive.
	KeepAlive(op *store.Op)
}

// Stepper is an optional interface of an API whose optimistic transactions take several
// requests, and have events before their end.
type Stepper interface {
	// STM sends the first request.
	STM(op *store.Op)
	// Stepped takes the answer to a request. It appends what is to be told, and sends the
	// next request or appends the operation's end; of one that was given up (r.Late)
	// that is a store.Late, perhaps after further requests.
	Stepped(r *http1.Response, to []store.Event) []store.Event
	// Cut appends how the operation ended with its connection, whose request in flight
	// was written in whole or was not.
	Cut(written bool, to []store.Event) []store.Event
}

// Registrar is an optional interface of an API that has a catalog of services.
type Registrar interface {
	// Register sends a request about an instance (store.Op.Service), whatever that asks.
	Register(op *store.Op)
}
