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
	// Pacer is the schedule of an open loop; nil for a closed loop.
	Pacer pace.Pacer
	// Duration is the length of the phase in nanoseconds. It is 0 if Total ends the
	// phase, which only a closed loop allows.
	Duration int64
	// Most is the longest time, in nanoseconds, for which a closed loop's warm-up continues
	// while its throughput is not steady. If Most is 0 the warm-up ends after Duration.
	Most int64
	// Total is the number of operations in all loops together; 0 for as many as fit
	// into Duration.
	Total uint64
}

// Config describes one loop's part of a load.
type Config struct {
	Codecs store.Codecs
	Source Source
	// History records operations for verification; nil if there is none.
	History History
	// Endpoints lists the endpoint of each connection of this loop.
	Endpoints []string
	// MemberAt returns the number of the member at an endpoint, or 0 if it is unknown. It
	// is for protocols whose replies do not name the member. It may be nil.
	MemberAt func(endpoint string) uint64
	// Clients has a connection's index for each client of a closed loop. The number of
	// the client with index i is i × Stride + Offset.
	Clients []int
	// NewConnection opens a new connection for each operation: each entry of Endpoints
	// has at most one connection at a time, and each client has its own entry.
	NewConnection bool
	// WatchOnly is the number of endpoints that only watchers use: the last ones.
	WatchOnly int
	// Watching is nil unless some loop of the load has watchers.
	Watching *Watching
	// Stride is the number of loops that share the load in this process, and Offset is
	// the index of this loop. In an open loop operation n belongs to place n modulo Places,
	// and place k belongs to loop k modulo Stride. In a closed loop without a total this
	// loop sends the operations whose number modulo Stride is Offset.
	Offset, Stride uint64
	// Shards is the number of processes that generate the load, and Shard is the index of
	// this process; 0 shards mean one. With several shards the numbers above count only the
	// operations, clients and places k for which k modulo Shards is Shard.
	Shard, Shards uint64
	// Places is the number of connections for operations in all loops of all shards; 0
	// means Stride times the number in this loop.
	Places int
	// Shared holds what the loops of the load share; nil for a load of one loop.
	Shared      *Shared
	Phases      []Phase
	Timeout     int64 // nanoseconds after an operation was sent
	MaxInFlight int   // limit of an open loop, for all loops together
	// DrainOnStop limits the wait for operations in flight after Stop, in nanoseconds.
	DrainOnStop int64
	Seed        uint64
	// MaxHeld limits the bytes of incomplete replies that all connections of this loop
	// buffer; 0 means poll.DefaultMaxHeld.
	MaxHeld int
	// Fine records in each second when operations ended within it (measure.Fine).
	Fine bool
	// LeaseOf returns the lease that operation n of a client keeps alive, if the operation
	// is a keep-alive. It is nil if ended leases are not recorded.
	LeaseOf func(n uint64, client uint32) int64
	// Deliver receives complete seconds in order; a measure.Collector merges them. Recycle
	// returns a histogram for reuse, or nil if none is free. The goroutine that merges
	// seconds calls Recycle too. Neither function blocks for long.
	Deliver func(*measure.Second)
	Recycle func() *measure.Histogram
	// Changed is called when a connection was lost (lost is true), or when a reply named a
	// term higher than all earlier ones (lost is false). It must not block.
	Changed func(term uint64, lost bool)
	// Mark is called on the loop's thread when a phase begins and when the last phase
	// ends. It must return quickly. The function that it returns, if any, is called after
	// the operations that were due at that time have been written.
	Mark func(Mark) (then func())
}

// Mark describes the beginning of a phase, or the end of the last one.
type Mark struct {
	Phase  measure.Phase // the one that began or ended
	Ended  bool
	At     int64 // on the loop's clock
	Thread int   // operating system's ID of the loop's thread
}

// Result holds what a loop measured, except its seconds, which went to Hand.
type Result struct {
	// Opened and Closed are the limits of the measurement window on the loop's clock.
	// Began is the start of the first phase.
	Opened, Closed int64
	Began          int64
	InWindow
	// Steady reports that throughput was steady when a warm-up with a Most ended.
	Steady bool
}

// InWindow holds what one or several loops observed in the measurement window, besides
// the seconds.
type InWindow struct {
	measure.Window
	// InFlightArea and RestingArea are integrals over the measurement window: of the number
	// of operations in flight, and of the number of clients that rested after a refusal.
	// Divided by the window's length in nanoseconds they are the averages.
	InFlightArea, RestingArea float64
	ErrorTexts                map[kv.Outcome]string // first text of each kind of error
	// Links is the number of connections to each endpoint when the window opened.
	// LinkChanges lists the connections opened and closed in the window, in order. Both are
	// empty if each operation has its own connection.
	Links       map[string]int
	LinkChanges []LinkChange
	// MemberOf maps an endpoint to the number of the member that replied there.
	MemberOf map[string]uint64
	// Connections lists the completed operations of a closed loop's clients by
	// connection, in any order. It is empty in an open loop, whose schedule assigns
	// operations to connections.
	Connections []measure.Connection
}
