package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Phase is the warm-up or the measurement window.
type Phase struct {
	Kind measure.Phase
	// Pacer is the schedule of an open loop. It is nil for a closed loop.
	Pacer pace.Pacer
	// Duration is the length of the phase in nanoseconds. It is 0 if the phase ends after Total
	// operations, which is possible only in a closed loop.
	Duration int64
	// Most is the maximum length of a closed loop's warm-up in nanoseconds: the warm-up continues
	// up to this length while its throughput is not yet steady. If Most is 0, the warm-up ends
	// after Duration.
	Most int64
	// Total is the number of operations in all loops together. 0 means as many as fit into
	// Duration.
	Total uint64
}

// Config describes one loop's part of a load.
type Config struct {
	Codecs store.Codecs
	Source Source
	// History records operations for verification. It is nil if nothing is verified.
	History History
	// Endpoints lists the endpoint of each connection of this loop.
	Endpoints []string
	// MemberAt returns the number of the member at an endpoint, or 0 if it is unknown. It is used
	// for protocols whose replies do not identify the member. It may be nil.
	MemberAt func(endpoint string) uint64
	// Clients lists, for each client of a closed loop, the index of its connection. The client with
	// index i has the number i × Stride + Offset.
	Clients []int
	// NewConnection opens a new connection for each operation. Each entry of Endpoints then has at
	// most one connection at a time, and each client has its own entry.
	NewConnection bool
	// WatchOnly is the number of endpoints, at the end of Endpoints, that only watchers use.
	WatchOnly int
	// Watching is nil if no loop of the load has watchers.
	Watching *Watching
	// Stride is the number of loops that share the load in this process, and Offset is the index of
	// this loop. In an open loop, operation n is assigned to place n modulo Places, and place k to
	// loop k modulo Stride. In a closed loop without a total, this loop sends the operations whose
	// number modulo Stride is Offset.
	Offset, Stride uint64
	// Shards is the number of processes that generate the load, and Shard is the index of this
	// process. 0 shards mean one. If there are several shards, the numbers above count only this
	// shard's operations, clients and places: those whose number modulo Shards is Shard.
	Shard, Shards uint64
	// Places is the number of connections for operations in all loops of all shards. 0 means Stride
	// times the number of such connections in this loop.
	Places int
	// Shared is the state that the loops of the load share. It may be nil if there is only one
	// loop.
	Shared      *Shared
	Phases      []Phase
	Timeout     int64 // in nanoseconds, counted from when an operation was sent
	MaxInFlight int   // maximum number of operations in flight in an open loop, over all loops together
	// DrainOnStop is the maximum wait for operations in flight after Stop, in nanoseconds.
	DrainOnStop int64
	Seed        uint64
	// MaxHeld is the maximum number of bytes that all connections of this loop together buffer for
	// incomplete replies. 0 means poll.DefaultMaxHeld.
	MaxHeld int
	// Fine records in each second the times at which operations ended within that second
	// (measure.Fine).
	Fine bool
	// LeaseOf returns the number of the lease that a client renews with operation n. It is called
	// only for keep-alives. It is nil if expired leases are not recorded.
	LeaseOf func(n uint64, client uint32) int64
	// Deliver receives complete seconds in order; a measure.Collector merges them. Recycle returns
	// a histogram for reuse, or nil if none is free. The goroutine that merges seconds calls
	// Recycle too, so Recycle must be safe for concurrent use. Neither function may block for long.
	Deliver func(*measure.Second)
	Recycle func() *measure.Histogram
	// Changed is called with lost set when a connection was lost, and with lost unset when a reply
	// contained a higher term than all earlier replies. It must not block.
	Changed func(term uint64, lost bool)
	// Mark is called on the loop's thread when a phase begins and when the last phase ends. It must
	// return quickly. If it returns a function, the loop calls that function after it has written
	// the operations that were due at that time.
	Mark func(Mark) (then func())
}

// Mark describes the beginning of a phase, or the end of the last phase.
type Mark struct {
	Phase  measure.Phase // the phase that began or ended
	Ended  bool
	At     int64 // on the loop's clock
	Thread int   // the operating system's ID for the loop's thread
}

// Result holds a loop's measurements except its seconds, which the loop passed to Deliver.
type Result struct {
	// Opened and Closed are the start and end of the measurement window on the loop's clock. Began
	// is the start of the first phase.
	Opened, Closed int64
	Began          int64
	InWindow
	// Steady is set if throughput was steady at the end of a warm-up that has a Most.
	Steady bool
}

// InWindow holds what one loop, or several loops together, observed in the measurement window,
// apart from the seconds.
type InWindow struct {
	measure.Window
	// InFlightArea and RestingArea are integrals over the measurement window: of the number of
	// operations in flight, and of the number of clients that rested after a refusal. Divided by
	// the window's length in nanoseconds they give the averages.
	InFlightArea, RestingArea float64
	ErrorTexts                map[kv.Outcome]string // the first error text for each kind of error
	// Links is the number of connections to each endpoint at the start of the window. LinkChanges
	// lists in order the connections that were opened or closed in the window. Both are empty if
	// each operation has its own connection.
	Links       map[string]int
	LinkChanges []LinkChange
	// MemberOf maps an endpoint to the number of the member that replied there.
	MemberOf map[string]uint64
	// Connections lists the operations that a closed loop's clients completed, by connection, in
	// any order. It is empty in an open loop, because there the schedule assigns operations to
	// connections.
	Connections []measure.Connection
}
