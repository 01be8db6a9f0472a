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
	// MaxDuration is the maximum length of a closed loop's warm-up in nanoseconds: the warm-up
	// continues up to this length while its throughput is not yet steady. If MaxDuration is 0, the
	// warm-up ends after Duration.
	MaxDuration int64
	// Total is the number of operations of all loops together. 0 means as many operations as fit
	// into Duration.
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
	// MemberAt returns the number of the member at an endpoint, or 0 if the number is unknown. The
	// loop uses MemberAt if the protocol's replies do not identify the member. MemberAt may be nil.
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
	Watching *WatchSetup
	// Stride is the number of loops that share the load in this process, and Offset is the index of
	// this loop. In an open loop, operation n belongs to place n modulo Places, and place k belongs
	// to loop k modulo Stride. In a closed loop without a total, this loop sends the operations
	// whose number modulo Stride is Offset.
	Offset, Stride uint64
	// Shards is the number of processes that generate the load, and Shard is the index of this
	// process. If Shards is 0, one process generates the load. If there are several shards, this
	// shard has only the operations, clients and places whose number modulo Shards is Shard. The
	// numbers in the comments on Clients, Stride and Offset then include only the operations,
	// clients and places of this shard.
	Shard, Shards uint64
	// Places is the number of connections for operations in all loops of all shards. 0 means Stride
	// times the number of such connections in this loop.
	Places int
	// Shared is the state that the loops of the load share. It may be nil if there is only one
	// loop.
	Shared      *Shared
	Phases      []Phase
	Timeout     int64 // in nanoseconds after an operation was sent
	MaxInFlight int   // open loop: maximum number of operations in flight in all loops together
	// DrainOnStop is the maximum wait for operations in flight after Stop, in nanoseconds.
	DrainOnStop int64
	Seed        uint64
	// MaxBuffered is the maximum number of bytes that all connections of this loop together buffer
	// for incomplete replies. 0 means poll.DefaultMaxBuffered.
	MaxBuffered int
	// RecordSlotDetail is set if the loop records the times of successes and failures within each
	// one-second interval (see measure.SlotDetail).
	RecordSlotDetail bool
	// LeaseNumber returns the number of the lease that a client renews with operation n. It is
	// called only for keep-alives. It is nil if expired leases are not recorded.
	LeaseNumber func(n uint64, client uint32) int64
	// Deliver receives the results of complete one-second intervals in order. A measure.Collector
	// merges these results. Recycle returns a histogram for reuse, or nil if none is free. Recycle
	// must be safe for concurrent use, because the goroutine that merges the results also calls it.
	// Neither function may block for long.
	Deliver func(*measure.Second)
	Recycle func() *measure.Histogram
	// OnClusterChange(0, true) reports that a connection was lost. OnClusterChange(term, false)
	// reports that a reply contained a higher term than all earlier replies. OnClusterChange must
	// not block.
	OnClusterChange func(term uint64, lost bool)
	// OnPhaseChange is called on the loop's thread when a phase begins and when the last phase
	// ends. OnPhaseChange must return quickly. If OnPhaseChange returns a function, the loop calls
	// this function after it has written the operations that were due when OnPhaseChange was
	// called.
	OnPhaseChange func(PhaseChange) (then func())
}

// PhaseChange describes the beginning of a phase, or the end of the last phase.
type PhaseChange struct {
	Phase  measure.Phase // the phase that began or ended
	Ended  bool
	At     int64 // on the loop's clock
	Thread int   // the operating system's ID for the loop's thread
}

// Result holds a loop's measurements. It does not contain the results of one-second intervals,
// which the loop passed to Deliver.
type Result struct {
	// WindowStart and WindowEnd are the start and end of the measurement window on the loop's
	// clock. LoadStart is the start of the first phase.
	WindowStart, WindowEnd int64
	LoadStart              int64
	InWindow
	// WarmupSteady is set if the warm-up had a maximum length (Phase.MaxDuration) and throughput
	// was steady at its end.
	WarmupSteady bool
}

// InWindow holds the measurements in the measurement window, of one loop or of several loops
// together. It does not contain the results of one-second intervals.
type InWindow struct {
	measure.Window
	// InFlightArea is the integral, over the measurement window, of the number of operations in
	// flight. RestingArea is the integral, over the same window, of the number of clients that
	// rested after a refusal. To get the average numbers, divide the integrals by the window's
	// length in nanoseconds.
	InFlightArea, RestingArea float64
	ErrorTexts                map[kv.Outcome]string // the first error text for each kind of error
	// Links is the number of connections to each endpoint at the start of the window. LinkChanges
	// lists in order the connections that were opened or closed in the window. Both are empty if
	// each operation has its own connection.
	Links       map[string]int
	LinkChanges []LinkChange
	// MemberByEndpoint maps an endpoint to the number of the member that replied there.
	MemberByEndpoint map[string]uint64
	// Connections lists, by connection and in any order, how many operations the clients of a
	// closed loop completed. It is empty in an open loop, because there the schedule assigns
	// operations to connections.
	Connections []measure.Connection
}
