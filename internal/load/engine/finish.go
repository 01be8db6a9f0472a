package engine

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// handle processes the events that a codec returned for connection i.
func (l *Loop) handle(i int) {
	c := l.conns.table[i]
	for k := range l.events {
		ev := &l.events[k]
		if ev.Type == store.SessionExpired {
			l.conns.expired++
			if l.reactive != nil {
				l.reactive.SessionExpired(c.place)
			}
			continue
		}
		if ev.Type >= store.WatchChange && l.reactive != nil && l.watchers.isEmpty {
			if l.cfg.History != nil {
				l.cfg.History.WatchEvent(ev.Watcher, ev, l.now, 0, l.now)
			}
			l.reactive.HandleWatchEvent(ev)
			continue
		}
		if ev.Type >= store.WatchChange || ev.Tag&watchMark != 0 {
			l.watchers.handle(i, ev, l.now, l.clock.current, &l.secs)
			continue
		}
		switch ev.Type {
		case store.LateResponse:
			c.open--
			c.late--
			if s := l.clock.current; s != nil { // nil after the window closed
				s.LateResponses++
			}
			l.slots.release(ev.Tag)
		case store.OperationDone:
			c.open--
			l.conns.noteReply(c, ev)
			l.finishOp(ev.Tag, roomFree, ev, l.now)
			if l.cfg.NewConnection {
				l.conns.closeAfterReply(i, l.now)
			}
		case store.LockAcquired, store.LockReleasing:
			if l.cfg.History != nil {
				sl := &l.slots.table[ev.Tag]
				l.cfg.History.LockChanged(ev, l.sessionNumber(sl), sl.earliestSend(), l.now)
			}
		}
	}
	if l.reactive != nil {
		l.startPrompted()
	}
}

// finishOp ends an operation with any outcome. It checks the reply, counts the operation, and frees
// the client that the operation occupied or, in an open loop, its unit of the limit.
func (l *Loop) finishOp(tag uint32, room connRoom, ev *store.Event, now int64) {
	sl := &l.slots.table[tag]
	outcome := ev.Outcome
	if outcome.Failed() && l.queueAgain(tag, outcome) {
		return
	}
	if outcome = l.judge(sl, ev, now); outcome.Failed() {
		l.countFailure(sl, outcome, ev, now)
	} else {
		l.countSuccess(sl, outcome, ev, now)
	}
	if sl.client < 0 {
		l.freePlace(tag, room)
	} else {
		l.freeClient(tag, room, outcome, now)
	}
}

// judge determines the outcome of an operation, and reports it to the source, the watchers and the
// history.
func (l *Loop) judge(sl *slot, ev *store.Event, now int64) kv.Outcome {
	outcome := ev.Outcome
	if !outcome.Failed() {
		if l.watchers.cfg != nil {
			l.watchers.noteAcked(sl, ev, now)
		}
		outcome = l.cfg.Source.Check(sl.kind, sl.ref, ev)
	} else if !outcome.Definite() {
		l.watchers.noteUncertain(sl)
	}
	if sl.state == waiting { // the operation was never encoded, so its kind is not known yet
		sl.kind, sl.level = l.cfg.Source.Kind(sl.acc.Phase, sl.n)
	}
	if l.reactive != nil {
		if outcome.Failed() {
			l.reactive.OperationFailed(sl.n)
		}
		if sl.measured {
			l.reactive.OperationEnded(sl.n, outcome, now-sl.due, now-sl.sent)
		}
	}
	if l.cfg.History != nil {
		l.recordCompletion(sl, outcome, ev, now)
	}
	return outcome
}

// seriesOf returns the series in which an operation's times are counted. The member and the term
// come from the reply if it contains them.
func (l *Loop) seriesOf(sl *slot, ev *store.Event) measure.Series {
	series := measure.Series{Kind: sl.kind, Consistency: sl.level, Member: l.memberOf(sl, ev), Term: ev.Term}
	switch {
	case ev.Term != 0:
	case sl.state == written:
		series.Term = sl.term
	default:
		series.Term = l.conns.currentTerm()
	}
	return series
}

// memberOf returns the member that replied: the member in the reply, or else the member at the
// connection's endpoint.
func (l *Loop) memberOf(sl *slot, ev *store.Event) uint64 {
	if ev.Member == 0 && sl.conn >= 0 {
		return l.conns.table[sl.conn].member
	}
	return ev.Member
}

// countSuccess counts an operation's outcome and times in the second in which the operation was
// due, and its completion in the current second.
func (l *Loop) countSuccess(sl *slot, outcome kv.Outcome, ev *store.Event, now int64) {
	series, acc := l.seriesOf(sl, ev), sl.acc
	acc.Outcomes[outcome]++
	acc.open--
	l.ended.done++
	l.secs.recordSuccess(acc, &series, now-sl.due, now-sl.sent)
	if weight := l.weightOf(sl); weight > 0 {
		l.recordDisturbance(sl, now, weight)
	}
	l.clock.countCompletion(sl.kind, now)
	if ev.ExtraRequests|ev.Retries != 0 {
		acc.ExtraRequests += uint64(ev.ExtraRequests)
		acc.Retries += uint64(ev.Retries)
	}
	if outcome == kv.Miss {
		acc.Misses[sl.kind]++
	}
	if sl.kind.Reads() {
		acc.Keys += uint64(max(ev.Count, 0))
	}
	if l.cfg.RecordSlotDetail {
		l.clock.recordSlotSuccess(&series, now)
		l.noteLeaseReply(sl, ev, now)
	}
}

// countFailure counts an error in the second in which its operation was due.
func (l *Loop) countFailure(sl *slot, outcome kv.Outcome, ev *store.Event, now int64) {
	series, acc := l.seriesOf(sl, ev), sl.acc
	acc.Outcomes[outcome]++
	acc.open--
	l.ended.failed++
	l.secs.recordFailure(acc, &series, outcome, now-sl.due)
	l.keepErrorText(outcome, ev.Text)
	if l.cfg.RecordSlotDetail {
		acc.slotDetail().CountFailure(series.Kind, outcome, sl.due-acc.start, now-acc.start)
		l.noteLeaseReply(sl, ev, now)
	}
}

// noteLeaseReply passes the reply to a keep-alive to the record of ended leases.
func (l *Loop) noteLeaseReply(sl *slot, ev *store.Event, now int64) {
	if sl.kind == kv.KeepAlive && sl.conn >= 0 && l.cfg.LeaseNumber != nil {
		l.leases.noteReply(l.cfg.LeaseNumber(sl.n, l.sessionNumber(sl)), sl.sent, now, ev, l.clock.current)
	}
}

// freeClient ends an operation in a closed loop. Then it starts the client's next operation, unless
// the client must rest first.
func (l *Loop) freeClient(tag uint32, room connRoom, outcome kv.Outcome, now int64) {
	sl := &l.slots.table[tag]
	l.recordBlockedClient(sl, now)
	client, measured, rest := sl.client, sl.measured, int64(0)
	if outcome.Failed() {
		rest = l.closed.rests.restAfter(sl, outcome, now, l.cfg.Timeout)
	} else {
		l.closed.rests.noteSuccess(now - sl.sent)
		l.noteSuccess(sl, now)
	}
	l.slots.finish(tag, room)
	if measured {
		l.closed.openInWindow--
		l.closed.lastEnd = now
	}
	if rest > 0 && !l.draining {
		l.closed.rests.push(sleeper{now + rest, client})
	} else {
		l.startNext(client, now)
	}
	if measured && l.closed.openInWindow == 0 {
		l.endWork()
	}
}

// freePlace ends an operation of an open loop and returns the operation's unit to the limit of
// operations in flight.
func (l *Loop) freePlace(tag uint32, room connRoom) {
	owed := l.slots.table[tag].exempt
	l.slots.finish(tag, room)
	switch {
	case owed:
		l.exemptOpen--
	case l.secs.hasSeveralLoops:
		l.cfg.Shared.limit.give(l.index())
	}
	l.noteFreed()
}

// keepErrorText stores the first error text for each kind of error.
func (l *Loop) keepErrorText(o kv.Outcome, words []byte) {
	if l.res.ErrorTexts[o] != "" {
		return
	}
	switch {
	case len(words) > 0:
		l.res.ErrorTexts[o] = text.Line(string(words[:min(len(words), text.MaxServerText+1)]), text.MaxServerText)
	case o == kv.TimedOut && l.stopped:
		l.res.ErrorTexts[o] = "no response before the load was stopped"
	case o == kv.TimedOut:
		l.res.ErrorTexts[o] = "no response within " + time.Duration(l.cfg.Timeout).String()
	case o == kv.NotSent:
		l.res.ErrorTexts[o] = "no connection was free before the operation's timeout or the end of the measurement window"
		if err := l.conns.downError(); err != nil {
			l.res.ErrorTexts[o] += ": " + text.Line(err.Error(), text.MaxServerText)
		}
	case o == kv.WrongResponse:
		l.res.ErrorTexts[o] = "the response is for another key, or contains a value that was never written to the requested key"
	}
}

// fail ends an operation that received no reply.
func (l *Loop) fail(tag uint32, room connRoom, outcome kv.Outcome, now int64) {
	l.finishOp(tag, room, &store.Event{Tag: tag, Outcome: outcome}, now)
}

// expire gives up the operations that have reached their timeout.
func (l *Loop) expire() {
	for l.slots.head != none && l.now >= l.slots.table[l.slots.head].start+l.cfg.Timeout {
		l.giveUp(l.slots.head)
	}
}

// abandonOpen gives up the operations that are still open when the drain of a stopped load ends.
func (l *Loop) abandonOpen() {
	for l.slots.head != none {
		l.giveUp(l.slots.head)
	}
}

// giveUp ends an operation that has reached its timeout, or that is still open when the drain ends.
// If an operation has only waited for other operations on its connection, giveUp lets it continue
// to wait.
func (l *Loop) giveUp(tag uint32) {
	switch {
	case l.cfg.NewConnection:
		l.giveUpWithConnection(tag)
	case l.keepsWaiting(tag):
	case l.slots.table[tag].state == waiting:
		l.fail(tag, roomFree, kv.NotSent, l.now)
	default:
		l.cancel(tag)
	}
}

// cancel gives up an operation that was submitted to its codec.
func (l *Loop) cancel(tag uint32) {
	i := int(l.slots.table[tag].conn)
	c := l.conns.table[i]
	at := connRoom(c.codec.Cancel(tag))
	if at == roomFree {
		c.open--
	} else {
		c.late++
	}
	l.conns.touch(i)
	l.fail(tag, at, kv.TimedOut, l.now)
	if c.state == up && c.moved && c.late == c.open {
		l.retireConn(i) // all operations that are still open on this connection are late
		return
	}
	if c.state == up && c.late > 0 && c.late == c.open && c.codec.Room() == 0 {
		// Only late replies are outstanding, and they block the connection. An HTTP client would
		// open a new connection in this situation, too.
		l.replaceConn(i)
		return
	}
	l.submitQueued(i)
}
