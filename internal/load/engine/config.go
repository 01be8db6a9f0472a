package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Phase is a part of the load.
type Phase struct {
	Kind measure.Phase
	// Pacer is the open loop's schedule; nil is a closed loop.
	Pacer pace.Pacer
	// Duration is the phase's length in nanoseconds; 0 when Total bounds it,
	// which only a closed loop may leave so.
	Duration int64
	// Most is the length up to which a closed loop's warm-up goes on beyond its
	// Duration while its throughput is not steady; 0 ends it with its Duration.
	Most int64
	// Total is how many operations there are in all loops together; 0 for as
	// many as the duration holds.
	Total uint64
}

// Config is one loop's part of a load.
type Config struct {
	Codecs store.Codecs
	Source Source
	// History is nil where nobody checks the answers.
	History History
	// Endpoints has an endpoint for each of this loop's connections.
	Endpoints []string
	// MemberAt is the member at an endpoint, by its number, for protocols whose
	// answers do not say who answers; 0 if it is not known. May be nil.
	MemberAt func(endpoint string) uint64
	// Clients has a connection's index for each client of a closed loop; the
	// client's number is its index times Stride plus Offset.
	Clients []int
	// NewConnection gives each operation a connection of its own: a place in
	// Endpoints holds one at a time, and each client has its own place.
	NewConnection bool
	// WatchOnly is how many of the endpoints, the last, are for watchers alone.
	WatchOnly int
	// Watching is nil unless some loop of the load has watchers.
	Watching *Watching
	// Stride is how many loops share the load in this process, and Offset this
	// one's place among them. In a closed loop without a total this loop sends
	// the operations whose number modulo Stride is Offset. In an open loop
	// operation n belongs to place n modulo Places, which is the loop's own that
	// has the place: place k of all is in loop k modulo Stride.
	Offset, Stride uint64
	// Shards is in how many processes the load is generated, and Shard which of
	// them this is; 0 shards are one. All numbers above are then of the
	// operations, clients and places k for which k modulo Shards is Shard.
	Shard, Shards uint64
	// Places is how many connections all loops of all shards together have for
	// operations; 0 for as many a loop as this one has.
	Places int
	// Shared is what the loops of the load share; nil for a load of one loop.
	Shared      *Shared
	Phases      []Phase
	Timeout     int64 // nanoseconds, from when an operation is sent
	MaxInFlight int   // open loop; of all loops together
	// DrainOnStop bounds the wait for what is in flight after Stop, in
	// nanoseconds.
	DrainOnStop int64
	Seed        uint64
	// MaxHeld bounds what all of this loop's connections keep of answers that
	// are not whole, in bytes; 0 means DefaultMaxHeld.
	MaxHeld int
	// Fine has each second say how it went within (measure.Fine).
	Fine bool
	// LeaseOf is the lease that the n-th operation, of a client, keeps alive if it is a
	// keep-alive. Nil where nobody asks which leases ended.
	LeaseOf func(n uint64, client uint32) int64
	// Hand takes finished seconds, in order; a measure.Collector settles them. Recycle gives
	// their histograms back, if it has any, also to the goroutine that settles them. Neither
	// blocks for long.
	Hand    func(*measure.Second)
	Recycle func() *measure.Histogram
	// Changed is called, and must not block, when a connection was lost or a term
	// was seen that is higher than all before; lost is false for the latter.
	Changed func(term uint64, lost bool)
	// Mark is called from the loop's thread when a phase began, or the last one
	// ended, and when. It must not take long. What it returns, if anything, is called
	// when what was due then is on its way.
	Mark func(Mark) (then func())
}

// Mark is the beginning of a phase or the end of the last.
type Mark struct {
	Phase  measure.Phase // the one that began or ended
	Ended  bool
	At     int64 // on the loop's clock
	Thread int   // the system's number of the loop's thread
}

// Result is what a loop returns at its end; its seconds went to Hand.
type Result struct {
	// Opened and Closed are the measured window's ends on the loop's clock, and
	// Began when the first phase did.
	Opened, Closed int64
	Began          int64
	InWindow
	// Steady says that throughput was steady when a warm-up with a Most ended.
	Steady bool
}

// InWindow is what a loop, or several, saw of the measured window beside its
// seconds.
type InWindow struct {
	measure.Window
	// InFlightArea and RestingArea are integrals over the window of the operations
	// in flight and of the clients that rested after a refusal, in nanoseconds.
	InFlightArea, RestingArea float64
	ErrorTexts                map[kv.Outcome]string // the first of each kind
	// Links is how many connections there were to each endpoint when the window
	// opened, and LinkChanges what came and went in it, in order. Both are empty
	// where each operation has its own connection.
	Links       map[string]int
	LinkChanges []LinkChange
	// MemberOf says which member answered at an endpoint, by its number.
	MemberOf map[string]uint64
	// Connections is what the clients of a closed loop completed, by their
	// connections, in any order; empty in an open loop, where whose turn an
	// operation is the schedule says.
	Connections []measure.Connection
}
