// Package engine drives load with event loops. Each loop owns its connections,
// client slots, histograms and timers. Loops share nothing on the hot path, and
// a loop in its steady state allocates nothing.
//
// Reconnecting, timeouts, pacing and routing are implemented here once, for all stores. A store
// contributes only a codec, which does no I/O. The interface poll.Poller provides the clock, the
// sockets and the waiting; tests use a simulated poller.
//
// A caller creates a loop, connects it, starts it, and gets its result:
//
//	loop := engine.New(cfg, poller)
//	go func() { results <- loop.Run(connectBy, connected) }()
//	… // wait until all loops are connected
//	loop.Start(at) // all loops of a load start at the same time
//	result := <-results
package engine

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// New returns a loop that uses the given poller. Run releases the poller when it
// returns.
func New(cfg Config, p poll.Poller) *Loop {
	if cfg.OnClusterChange == nil {
		cfg.OnClusterChange = func(uint64, bool) {}
	}
	if cfg.MemberAt == nil {
		cfg.MemberAt = func(string) uint64 { return 0 }
	}
	if cfg.OnPhaseChange == nil {
		cfg.OnPhaseChange = func(PhaseChange) func() { return nil }
	}
	if cfg.Shared == nil {
		total := uint64(0)
		if n := len(cfg.Phases); n > 0 {
			total = cfg.Phases[n-1].Total
		}
		cfg.Shared = NewShared(1, total, cfg.MaxInFlight)
	}
	if cfg.MaxBuffered <= 0 {
		cfg.MaxBuffered = poll.DefaultMaxBuffered
	}
	if cfg.Places == 0 {
		cfg.Places = (len(cfg.Endpoints) - cfg.WatchOnly) * int(cfg.Stride)
	}
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	l := &Loop{
		cfg: cfg, poller: p,
		slots:    newSlots(len(cfg.Clients)),
		secs:     newSecondQueue(&cfg),
		reads:    reads{buf: make([]byte, readBuffer), sample: sampling{interval: 1}},
		openLoop: openLoop{sched: schedule{offset: cfg.Shard + cfg.Shards*cfg.Offset, stride: cfg.Shards * cfg.Stride, places: uint64(cfg.Places), due: never}},
		res:      Result{InWindow: InWindow{ErrorTexts: map[kv.Outcome]string{}}},
	}
	for _, place := range cfg.Clients {
		l.closed.clients = append(l.closed.clients, client{place: place})
	}
	l.sched.clock = &l.clock
	l.reactive, _ = cfg.Source.(Reactive)
	l.stamped, _ = p.(poll.TimestampPoller)
	l.parking, _ = p.(poll.ParkPoller)
	l.conns.init(&l.cfg, p, &l.slots)
	l.watchers.init(&l.cfg, &l.conns, &l.slots)
	l.leases = leases{}
	l.Live.Phase.Store(-1)
	cfg.Shared.loops[l.index()] = l
	return l
}

// Run connects, passes the result to the function `connected`, waits for a call of Start, runs the
// phases, drains, and returns the loop's result. It returns nil if it could not connect or create
// its watchers. connectBy is the deadline for connecting, as a time on the loop's clock. Run locks
// its goroutine to an operating system thread.
func (l *Loop) Run(connectBy int64, connected func(error)) *Result {
	defer l.poller.Release()
	l.Live.Thread.Store(int64(l.poller.Attach()))
	if thread := int(l.Live.Thread.Load()); thread > 0 && l.isOpenLoop() {
		raisePriority(thread)
	}
	l.now = l.poller.Now()
	err := l.connectAll(connectBy)
	if err == nil {
		err = l.createWatchers(connectBy)
	}
	if err != nil {
		connected(err)
		l.closeAll()
		return nil
	}
	l.beforeStart = true
	connected(nil)
	for !l.finished() {
		l.turn()
	}
	l.abandonOpen()
	// Another loop may have received the missing replies in the meantime.
	l.watchers.resolve(l.now, nil, &l.secs)
	l.watchers.tail.release()
	l.prompts.release()
	l.abandonSpilled(l.res.WindowEnd)
	l.abandonSchedule(l.res.WindowEnd)
	l.cfg.Shared.spill.cursors[l.index()].due.Store(never)
	l.secs.release(never)
	if l.cfg.History != nil {
		l.cfg.History.LoadEnded(l.now)
	}
	l.closeAll()
	l.Live.Phase.Store(-1)
	l.conns.report(&l.res)
	l.res.Connections = l.closed.connections()
	l.res.LongestPause, l.res.Paused = l.pauses.longest, l.pauses.sum
	return &l.res
}

// connectAll dials every connection and waits until all of them accept operations. It returns an
// error if a connection fails, the deadline passes or Stop is called.
func (l *Loop) connectAll(deadline int64) error {
	l.clock.nextBoundary = never
	l.conns.dialAll()
	for {
		ready, why, err := l.conns.allReady()
		switch {
		case ready || err != nil:
			return err
		case l.now >= deadline:
			return errors.New(why)
		case l.stopRequested():
			return errors.New("the load was stopped before all connections had been opened")
		}
		l.prepare(deadline)
	}
}

// createWatchers creates the watchers that must exist before the load starts, and waits until they
// exist. It returns an error if the store refuses a watcher, the deadline passes or Stop is called.
func (l *Loop) createWatchers(deadline int64) error {
	w := &l.watchers
	if w.isEmpty || w.cfg.CreateInWindow {
		return nil
	}
	w.begin(l.now)
	l.flushDirty()
	deadline = max(deadline, l.now+l.cfg.Timeout)
	for {
		created, err := w.allCreated()
		switch {
		case created || err != nil:
			return err
		case l.now >= deadline:
			return fmt.Errorf("%d of %d watchers were not created in time", w.missing, len(w.state))
		case l.stopRequested():
			return errors.New("the load was stopped before all watchers had been created")
		}
		l.prepare(deadline)
	}
}

// prepare runs one turn of the loop before the load begins.
func (l *Loop) prepare(deadline int64) {
	l.wait(min(deadline, l.conns.tickAt, l.conns.redialAt, l.now+heartbeat))
	l.advance(l.poller.Now())
	l.handleReady()
	l.maintain()
	l.flushDirty()
}

// turn waits for the next event and then does everything that is due. Its order
// matters:
//
//  1. Wait, and account for a pause of the generator (pauses).
//  2. Advance the clock (advance), which opens and closes seconds and phases.
//  3. Read all ready connections, then process the replies (handleReady).
//  4. Expire operations that reached their timeout.
//  5. Start operations that are due: by schedule (startDue) or by client
//     (wakeRested, shareWork).
//  6. Write all output (flushDirty), so that one write carries several operations.
//  7. Hand over complete seconds (handOverSeconds).
func (l *Loop) turn() {
	until := l.nextWake()
	asked := max(until, l.now, l.pauses.turnEnded)
	if until-l.now < minPark || !l.park(until) {
		asked = l.pauses.nextBeat(l.now, asked)
	}
	l.wait(until)
	now := l.poller.Now()
	l.pauses.beginTurn(asked, now)
	l.runWaits.beginTurn(now)
	if l.sched.pacer == nil {
		l.stepWarmup(now)
	}
	ended := l.ended.done + l.ended.failed
	l.advance(now)
	if l.control.full.Load() {
		l.handleRequests()
	}
	if l.reactive != nil {
		l.startPrompted()
	}
	if len(l.ready) > 0 {
		l.handleReady()
	}
	if head := l.slots.head; head != none && l.now >= l.slots.table[head].start+l.cfg.Timeout {
		l.expire()
	}
	if !l.watchers.isEmpty || l.now >= l.conns.tickAt || l.now >= l.conns.redialAt {
		l.maintain()
	}
	if len(l.waitingOps) > 0 {
		l.sendWaiting()
	}
	if !l.draining && !l.beforeStart {
		if l.sched.pacer != nil {
			l.startDue()
		} else {
			l.wakeRested()
			l.shareWork()
		}
	}
	if l.reactive != nil {
		l.startPrompted()
	}
	if len(l.conns.dirty) > 0 {
		l.flushDirty()
	}
	if len(l.phaseChangeFuncs) > 0 {
		l.finishPhaseChanges()
	}
	if l.draining || l.secs.hasSeveralLoops || l.secs.firstHasEnded(l.now) {
		l.handOverSeconds()
	}
	l.publish()
	end := l.poller.Now()
	if l.pauses.isWriteLate(end) {
		l.recordLateWrite(end)
	}
	l.pauses.lastWrite = 0
	l.pauses.endTurn(end, l.ended.done+l.ended.failed-ended, len(l.ready))
}

// nextWake returns the latest time at which the loop must run again.
func (l *Loop) nextWake() int64 {
	if l.hasMoreDue && !l.draining {
		return l.now
	}
	until := l.now + heartbeat
	if l.mayPark() {
		until = l.now + maxPark
	}
	if l.measuring && l.slots.open > 0 && l.pauses.beat == 0 {
		until = l.now + beat
	}
	if l.slots.head != none {
		until = min(until, l.slots.table[l.slots.head].start+l.cfg.Timeout)
	}
	if due := l.sched.due; due < until && !l.draining && !l.beforeStart && (due > l.now || l.canSend()) {
		until = due
	}
	if len(l.closed.rests.resting) > 0 && !l.draining {
		until = min(until, l.closed.rests.firstWake())
	}
	if l.reactive != nil {
		until = min(until, l.nextPrompt())
	}
	return min(until, l.clock.nextBoundary, l.conns.tickAt, l.conns.redialAt)
}

// maintain does periodic work: it recreates watchers, calls Tick on codecs, and redials.
func (l *Loop) maintain() {
	if !l.watchers.isEmpty {
		l.watchers.retry(l.now)
		l.watchers.resolve(l.now, l.clock.current, &l.secs)
		l.watchers.requestProgress(l.now)
	}
	if l.now >= l.conns.tickAt {
		l.conns.tickAt = never
		for i := range l.conns.table {
			l.tickConn(i)
		}
	}
	l.conns.redialDue(l.now)
}

// publish updates Live. It stores a counter only if its value has changed, because an atomic store
// costs as much as many atomic loads.
func (l *Loop) publish() {
	if l.Live.Done.Load() != l.ended.done {
		l.Live.Done.Store(l.ended.done)
	}
	if l.Live.Failed.Load() != l.ended.failed {
		l.Live.Failed.Store(l.ended.failed)
	}
	if l.Live.Events.Load() != l.watchers.events {
		l.Live.Events.Store(l.watchers.events)
	}
	if open := l.slots.open; l.Live.InFlight.Load() != int64(open) {
		l.Live.InFlight.Store(int64(open))
		l.res.MaxInFlight = max(l.res.MaxInFlight, open)
	}
}

// finished reports whether the load has ended and is drained.
func (l *Loop) finished() bool { return l.draining && l.drained() }

// drained reports whether the loop has nothing left to wait for: no operation is open, and neither
// the watchers nor the source expect an event. After Stop, drained also returns true once
// drainDeadline has passed.
func (l *Loop) drained() bool {
	return l.slots.open == 0 && l.watchers.isSettled(l.now) && (l.reactive == nil || !l.reactive.ExpectsMore(l.now)) || l.stopped && l.now >= l.drainDeadline
}

// Epoch records the term of a new leader, for protocols whose replies carry no term. Operations
// sent after the call belong to this term unless their reply states a different term.
func (l *Loop) Epoch(term uint64) { l.conns.epoch.Store(term) }
