package engine

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// handle acts on the events of a codec.
func (l *Loop) handle(i int) {
	c := l.conns.table[i]
	for k := range l.events {
		ev := &l.events[k]
		if ev.What == store.Expired {
			l.conns.expired++
			if l.reactive != nil {
				l.reactive.Expired(c.place)
			}
			continue
		}
		if ev.What >= store.Notify && l.reactive != nil && l.watchers.none {
			if l.cfg.History != nil {
				l.cfg.History.Told(ev.Watcher, ev, l.now, 0, l.now)
			}
			l.reactive.Notified(ev)
			continue
		}
		if ev.What >= store.Notify || ev.Tag&watchMark != 0 {
			l.watchers.handle(i, ev, l.now, l.clock.current, &l.secs)
			continue
		}
		switch ev.What {
		case store.Late:
			c.open--
			c.late--
			if s := l.clock.current; s != nil { // nil behind the window
				s.Late++
			}
			l.slots.release(ev.Tag)
		case store.Done:
			c.open--
			l.conns.note(c, ev)
			l.finishOp(ev.Tag, true, ev, l.now)
			if l.cfg.NewConnection {
				l.conns.leave(i, l.now)
			}
		case store.Held, store.Freed:
			if l.cfg.History != nil {
				sl := &l.slots.table[ev.Tag]
				l.cfg.History.Locked(ev, l.session(sl), sl.began(), l.now)
			}
		}
	}
	l.prompt()
}

// finishOp ends an operation that was due, whatever its outcome, and frees the
// client that waited for it.
func (l *Loop) finishOp(tag uint32, placeFree bool, ev *store.Event, at int64) {
	sl := &l.slots.table[tag]
	outcome := ev.Outcome
	l.watchers.done(sl, ev)
	if !outcome.Failed() {
		l.watchers.acked(sl, ev, at)
		outcome = l.cfg.Source.Check(sl.kind, sl.ref, ev)
	} else if l.queueAgain(tag, outcome) {
		return
	} else if !outcome.Definite() {
		l.watchers.mayBeDone(sl)
	}
	if sl.state == waiting { // it was never made
		sl.kind, sl.level = l.cfg.Source.Kind(sl.acc.Phase, sl.n)
	}
	series := measure.Series{Kind: sl.kind, Consistency: sl.level, Member: ev.Member, Term: ev.Term}
	if ev.Member == 0 && sl.conn >= 0 {
		series.Member = l.conns.table[sl.conn].member
	}
	if ev.Term == 0 {
		series.Term = sl.term
		if sl.state != written {
			series.Term = l.conns.term()
		}
	}
	if l.reactive != nil {
		if outcome.Failed() {
			l.reactive.Failed(sl.n)
		}
		if sl.measured {
			l.reactive.Ended(sl.n, outcome, at-sl.due, at-sl.sent)
		}
	}
	if l.cfg.History != nil {
		l.remember(sl, outcome, ev, series.Member, at)
	}
	l.held(sl, at)
	acc := sl.acc
	acc.Outcomes[outcome]++
	acc.open--
	if outcome.Failed() {
		l.failLive++
		l.secs.failed(acc, series, outcome, at-sl.due)
		l.explain(outcome, ev.Text)
	} else {
		l.doneLive++
		l.secs.succeeded(acc, series, at-sl.due, at-sl.sent)
		if weight := l.weightOf(sl); weight > 0 {
			l.disturbed(sl, at, weight)
		}
		l.clock.completed(sl.kind, at)
		acc.Extra += uint64(ev.Extra)
		acc.Retries += uint64(ev.Retries)
		if outcome == kv.Miss {
			acc.Missed[sl.kind]++
		}
		if sl.kind.Reads() {
			acc.Keys += uint64(max(ev.Count, 0))
		}
	}
	if l.cfg.Fine {
		l.clock.fine(&series, outcome, at)
		if sl.kind == kv.KeepAlive && sl.conn >= 0 && l.cfg.LeaseOf != nil {
			l.leases.answered(l.cfg.LeaseOf(sl.n, l.session(sl)), sl.sent, at, ev, l.clock.current)
		}
	}
	client, measured, owed := sl.client, sl.measured, sl.owed
	rest := int64(0)
	if client >= 0 {
		rest = l.ended(sl, outcome, at)
	}
	l.slots.finish(tag, placeFree)
	if client < 0 {
		l.freePlace(owed)
		return
	}
	if measured {
		l.closed.inWindow--
		l.closed.lastAt = at
		if !outcome.Failed() {
			l.closed.clients[client].completed++
		}
	}
	if rest > 0 && !l.draining {
		l.closed.rests.push(sleeper{at + rest, client})
	} else {
		l.begin(client, at)
	}
	if measured && l.closed.inWindow == 0 {
		l.endWork()
	}
}

// freePlace lets the open loop have the place of an operation that has ended.
func (l *Loop) freePlace(owed bool) {
	switch {
	case owed:
		l.owed--
	case l.cfg.Shared.several():
		l.cfg.Shared.limit.give(l.me())
	}
	l.freed()
}

// explain keeps the first text of each kind of error.
func (l *Loop) explain(o kv.Outcome, words []byte) {
	if l.res.ErrorTexts[o] != "" {
		return
	}
	switch {
	case len(words) > 0:
		l.res.ErrorTexts[o] = text.Line(string(words[:min(len(words), text.OfServer+1)]), text.OfServer)
	case o == kv.TimedOut && l.stopped:
		l.res.ErrorTexts[o] = "no answer until the load was stopped"
	case o == kv.TimedOut:
		l.res.ErrorTexts[o] = "no answer within " + time.Duration(l.cfg.Timeout).String()
	case o == kv.NotSent:
		l.res.ErrorTexts[o] = "no connection took it before its timeout or the window's end"
		if err := l.conns.whyDown(); err != nil {
			l.res.ErrorTexts[o] += ": " + text.Line(err.Error(), text.OfServer)
		}
	case o == kv.WrongAnswer:
		l.res.ErrorTexts[o] = "another key, or a value that was never written to this key"
	}
}

// fail ends an operation that got no answer.
func (l *Loop) fail(tag uint32, placeFree bool, outcome kv.Outcome, at int64) {
	l.finishOp(tag, placeFree, &store.Event{Tag: tag, Outcome: outcome}, at)
}

// expire gives up what has waited for longer than the timeout.
func (l *Loop) expire() {
	for l.slots.head != none && l.now >= l.slots.table[l.slots.head].start+l.cfg.Timeout {
		l.giveUp(l.slots.head)
	}
}

// abandonOpen ends what a stopped load did not wait for.
func (l *Loop) abandonOpen() {
	for l.slots.head != none {
		l.giveUp(l.slots.head)
	}
}

// giveUp ends an operation that nobody waits for any more.
func (l *Loop) giveUp(tag uint32) {
	switch {
	case l.cfg.NewConnection:
		l.giveUpWithConnection(tag)
	case l.waitsOn(tag):
	case l.slots.table[tag].state == waiting:
		l.fail(tag, true, kv.NotSent, l.now)
	default:
		l.cancel(tag)
	}
}

// cancel gives up an operation that its codec still has.
func (l *Loop) cancel(tag uint32) {
	i := int(l.slots.table[tag].conn)
	c := l.conns.table[i]
	placeFree := c.codec.Cancel(tag)
	if placeFree {
		c.open--
	} else {
		c.late++
	}
	l.conns.touch(i)
	l.fail(tag, placeFree, kv.TimedOut, l.now)
	if c.state == up && c.moved && c.late == c.open {
		l.retire(i) // nobody waits for what it still owes
		return
	}
	if c.state == up && c.late > 0 && c.late == c.open && c.codec.Room() == 0 {
		// All that is left is answers that nobody waits for, and they block
		// the connection: what an HTTP client does then is to take another.
		l.replace(i)
		return
	}
	l.pump(i)
}
