package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// crossBoundary ends the current one-second interval, phase or load at the time clock.nextBoundary.
func (l *Loop) crossBoundary() {
	at := l.clock.nextBoundary
	switch {
	case l.beforeStart:
		l.beforeStart = false
		l.openPhase(0, at)
	case at >= l.clock.phaseEnd:
		if l.clock.phaseIndex+1 < len(l.clock.phases) {
			l.endSecond(at)
			l.openPhase(l.clock.phaseIndex+1, at)
		} else {
			l.closeWindow(at)
		}
	default:
		l.endSecond(at)
		l.clock.index++
		l.openSecond(at)
	}
}

// startPhases schedules the first phase to begin at the given time on the loop's clock.
func (l *Loop) startPhases(at int64) {
	l.clock = clockwork{phases: l.cfg.Phases, nextBoundary: at, phaseEnd: never}
	l.sched.due = never
}

// openPhase begins phase i. In the first phase of a closed loop it also starts the clients' first
// operations.
func (l *Loop) openPhase(i int, at int64) {
	c := &l.clock
	c.phaseIndex, c.origin, c.index, c.phaseEnd = i, at, 0, never
	p := c.phase()
	if p.Duration > 0 {
		c.phaseEnd = at + max(p.Duration, p.MaxDuration)
	}
	if i == 0 {
		l.res.LoadStart = at
	}
	l.Live.Phase.Store(int32(p.Kind))
	l.reportPhaseChange(at, false)
	if p.Kind == measure.Measured {
		l.openWindow(at)
	}
	l.openSecond(at)
	if p.Pacer != nil {
		if l.sched.pacer == nil || l.sched.due == never {
			l.sched.enter(i)
		}
		return
	}
	l.closed.n = l.sched.offset
	l.closed.hasTotal = p.Total > 0
	if i == 0 {
		for client := range l.cfg.Clients {
			l.closed.clients[client].succeeded = at
			l.startNext(int32(client), at)
		}
	}
	l.closed.lastEnd = at
	if len(l.cfg.Clients) == 0 {
		l.endWork()
	}
}

// reportPhaseChange calls Config.OnPhaseChange. If OnPhaseChange returns a function,
// reportPhaseChange stores it, and finishPhaseChanges calls it later.
func (l *Loop) reportPhaseChange(at int64, ended bool) {
	then := l.cfg.OnPhaseChange(PhaseChange{Phase: l.clock.phase().Kind, Ended: ended, At: at, Thread: int(l.Live.Thread.Load())})
	if then != nil {
		l.phaseChangeFuncs = append(l.phaseChangeFuncs, then)
	}
}

// finishPhaseChanges calls the functions that Config.OnPhaseChange returned. By now the operations
// that were due when OnPhaseChange was called have been written.
func (l *Loop) finishPhaseChanges() {
	for _, then := range l.phaseChangeFuncs {
		then()
	}
	l.phaseChangeFuncs = l.phaseChangeFuncs[:0]
}

func (l *Loop) openSecond(at int64) {
	c := &l.clock
	c.current = l.secs.beginSecond(c.phase().Kind, c.index, at)
	c.nextBoundary = min(at+secondNS, c.phaseEnd)
}

func (l *Loop) endSecond(at int64) {
	l.sample.adapt()
	s := l.clock.current
	s.InFlight = l.slots.open
	s.Length = max(at-s.start, 0)
	s.Clients, s.Resting = len(l.cfg.Clients), len(l.closed.rests.resting)
	s.Connections = l.conns.countUp()
	s.BytesIn, s.BytesOut = l.conns.bytesIn, l.conns.bytesOut
	l.conns.bytesIn, l.conns.bytesOut = 0, 0
}

// openWindow starts the measurement. It discards the counts from the warm-up, and sets
// InFlightAtStart to the number of operations that are already due or in flight.
func (l *Loop) openWindow(at int64) {
	l.res.WindowStart, l.measuring, l.areaUntil = at, true, at
	l.res.WarmupSteady = l.cfg.Shared.warmup.steady.Load()
	l.res.MaxInFlight = l.slots.open
	l.conns.reconnects, l.conns.expired = 0, 0
	l.pauses.setCounting(true, l.poller)
	if !l.isOpenLoop() { // an open loop's response times include every wait for a CPU
		l.runWaits.begin(l.poller, l.now)
	}
	l.watchers.begin(l.now)
	l.conns.links.begin(&l.conns)
	l.closed.noteEndpoints(&l.conns)
	oldestDue := at
	for i := range l.slots.table {
		if sl := &l.slots.table[i]; sl.state == waiting || sl.state == submitted || sl.state == written {
			l.res.InFlightAtStart++
			oldestDue = min(oldestDue, sl.due)
		}
	}
	if l.sched.pacer != nil && l.sched.due < at {
		oldestDue = min(oldestDue, l.sched.due)
		// The operations that remain in the warm-up's schedule are still due, too.
		l.res.InFlightAtStart += l.sched.backlog(at)
	}
	if l.cfg.Shared.hasSeveralLoops() {
		count, first := l.cfg.Shared.spill.countBefore(l.index(), at)
		l.res.InFlightAtStart += count
		oldestDue = min(oldestDue, first)
	}
	l.res.OldestInFlightAge = at - oldestDue
}

// closeWindow ends the load: no more operations become due, operations that were never written fail
// as not_sent, and the loop waits for the operations in flight.
func (l *Loop) closeWindow(at int64) {
	if l.measuring { // the window ends at `at`; the clock may already be later
		l.res.InFlightArea += float64(at-l.areaUntil) * float64(l.slots.open)
		l.res.RestingArea += float64(at-l.areaUntil) * float64(len(l.closed.rests.resting))
		l.areaUntil = at
	}
	l.startDueUntil(at) // start the operations that became due just before the window closed
	if l.cfg.RecordSlotDetail {
		for client := range l.closed.clients { // each client still waits for its next success
			l.noteWait(int32(client), at) // #nosec G115 -- client indexes are far below 2^31
		}
	}
	l.endSecond(at)
	if at <= l.clock.current.start {
		// Another loop ended the load before this loop's last interval began.
		l.clock.current = l.secs.dropEmpty()
	}
	l.watchers.holdTail(l.clock.current)
	l.holdPrompts()
	l.draining = true
	l.res.WindowEnd = at
	l.reportPhaseChange(at, true)
	l.measuring, l.conns.links.recording = false, false
	l.pauses.setCounting(false, l.poller)
	l.runWaits.end()
	l.clock.current, l.clock.nextBoundary = nil, never
	l.Live.Phase.Store(-1)
	l.markScheduleAbandoned(at)
	for tag := l.slots.head; tag != none; {
		next := l.slots.table[tag].next
		// An operation whose connection is being opened counts as in flight. So does an operation
		// of a Reactive source that waits for other replies. The loop drains both.
		switch sl := &l.slots.table[tag]; {
		case sl.state != waiting || l.cfg.NewConnection:
		case sl.client >= 0 && l.waitsForOthers(sl):
			l.withdraw(tag)
		case l.reactive == nil || sl.client >= 0:
			l.fail(tag, roomFree, kv.NotSent, max(at, sl.due))
		}
		tag = next
	}
}

// handOverSeconds hands over the complete one-second intervals (see measure.Second). In a load with
// several loops, it hands over only intervals in which no other loop can still count an operation.
func (l *Loop) handOverSeconds() {
	pending := l.pending()
	if s := l.cfg.Shared; s.hasSeveralLoops() && l.sched.pacer != nil {
		s.spill.cursors[l.index()].due.Store(pending)
		if !l.secs.firstIsComplete(pending) {
			return
		}
		pending = min(pending, s.spill.pending())
	}
	l.secs.release(pending)
}

// pending returns a lower bound for the due times of the operations that have not been created yet.
func (l *Loop) pending() int64 {
	if l.draining {
		// The due time of the first operation that abandonSchedule will count, or the constant
		// `never` if abandonSchedule will count none.
		return l.sched.due
	}
	return min(l.now, l.sched.due)
}

// advance advances the loop's clock to `now`. It ends, in order, all one-second intervals and
// phases that are over. It does nothing if `now` is before the loop's clock.
func (l *Loop) advance(now int64) {
	if now < l.now {
		return // an event with a later time has already been processed
	}
	l.now = now
	if l.measuring {
		if n := l.slots.open; n > 0 {
			l.res.InFlightArea += float64(now-l.areaUntil) * float64(n)
		}
		if n := len(l.closed.rests.resting); n > 0 {
			l.res.RestingArea += float64(now-l.areaUntil) * float64(n)
		}
		l.areaUntil = now
	}
	for !l.draining && now >= l.clock.nextBoundary {
		l.crossBoundary()
	}
}

// isOpenLoop reports whether the load is an open loop.
func (l *Loop) isOpenLoop() bool {
	for i := range l.cfg.Phases {
		if l.cfg.Phases[i].Pacer != nil {
			return true
		}
	}
	return false
}
