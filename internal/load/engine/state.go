package engine

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Live holds counters of a running loop. Any goroutine may read them at any time.
type Live struct {
	Done, Failed atomic.Uint64 // ended operations, including those in the warm-up
	Events       atomic.Uint64 // watch events received
	InFlight     atomic.Int64
	Phase        atomic.Int32 // measure.Phase; -1 before the start and while draining
	Thread       atomic.Int64 // the operating system's ID for the loop's thread
}

// Loop is an event loop that generates one part of a load. Run runs it; the other
// exported methods may be called from any goroutine.
//
// One turn of the loop waits, reads all ready connections, processes the replies, starts the
// operations that are due, and writes these operations (see turn). For example, a closed loop with
// one client does this:
//
//	startNext(client) take a slot, due = now, choose the client's connection
//	submit            let the codec encode the operation into its output
//	flush             sent = clock; write the output
//	readInto          read the reply; done = clock
//	handle            let the codec decode the reply, which finishes the slot
//	startNext(client) start the client's next operation, due = done
//
// An open loop starts operations in startDueUntil instead, at the times of its schedule.
//
// Invariant: only the goroutine in Run uses the fields below, except Live, control,
// conns.epoch and cfg.Shared, which other goroutines use too.
//
// Invariant: now never decreases, and all seconds that end at or before now are closed.
//
// Invariant: in each second, Due is the sum of all Outcomes plus the number of open operations. No
// operation is lost or counted twice.
type Loop struct {
	Live Live

	cfg     Config
	poller  poll.Poller
	parking poll.ParkPoller // the poller, if it implements poll.ParkPoller
	control mailbox

	conns            connections
	watchers         watchers
	leases           leases
	slots            slots
	secs             secondQueue
	pauses           pauses
	runWaits         runWaits
	events           []store.Event
	ready            []poll.Ready
	op               store.Op
	phaseChangeFuncs []func() // results of Config.OnPhaseChange, to be called after the next write

	reads
	recording
	reactions
	openLoop
	closed closedLoop

	now   int64     // the loop's clock when it was last read
	clock clockwork // current phase and second
	stage
	warmup slotProgress
	ended  endedCounts
	res    Result
}

// stage is the progress of the load.
type stage struct {
	beforeStart   bool  // before the start: nothing is counted yet
	measuring     bool  // in the measurement window
	areaUntil     int64 // the time up to which Result.InFlightArea has been computed
	draining      bool  // no more operations become due
	stopped       bool  // Stop was called
	drainDeadline int64 // after Stop: when the loop stops waiting for operations in flight
}

// endedCounts counts ended operations, including those in the warm-up.
type endedCounts struct{ done, failed uint64 }
