package engine

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Live is the state of a running loop; any goroutine may read it at any time.
type Live struct {
	Done, Failed atomic.Uint64 // operations ended, warm-up included
	Events       atomic.Uint64 // that watchers got
	InFlight     atomic.Int64
	Phase        atomic.Int32 // measure.Phase; -1 before the start and when draining
	Thread       atomic.Int64 // the system's number of the loop's thread
}

// Loop is one event loop. Run runs it; the other exported methods may be
// called from any goroutine.
type Loop struct {
	Live Live

	cfg     Config
	poller  poll.Poller
	parking poll.Parking // the poller, if it is one
	control mailbox

	conns    connections
	watchers watchers
	leases   leases
	slots    slots
	secs     secondQueue
	pauses   pauses
	runWaits runWaits
	events   []store.Event
	ready    []poll.Ready
	op       store.Op
	marked   []func() // what marks left to be done

	reads
	recording
	reactions
	openLoop
	closed closedLoop

	now   int64
	clock clockwork // phases and seconds, by time
	stage
	warmup slotsPassed
	ended  endedCounts
	res    Result
}

// stage is how far the load is.
type stage struct {
	idle      bool  // before the start: nothing is counted
	measuring bool  // in the window
	areaAt    int64 // until when Result.InFlightArea is known
	draining  bool  // nothing becomes due any more
	stopped   bool  // before its time
	drainTill int64 // until when what is in flight is awaited then
}

// endedCounts are the operations that have ended, warm-up included.
type endedCounts struct{ done, failed uint64 }
