package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// What arrives at the watchers is counted in the second in which it does, and timed from
// the write that made it: when that was due, sent and acknowledged is noted here, too.

// notified takes an event that arrived now.
func (w *watchers) notified(ev *store.Event, now int64, s *second, secs *secondQueue) {
	w.seen[ev.Watcher] = max(w.seen[ev.Watcher], ev.Revision)
	w.events++
	w.tell(ev.Watcher, ev, 0, now)
	seen := w.cfg.Sink.Take(ev, now)
	w.checkCaught()
	w.count(seen, now, s, secs)
}

// resolve counts the events whose writes have become known.
func (w *watchers) resolve(now int64, current *second, secs *secondQueue) {
	if !w.none {
		w.cfg.Sink.Resolve(now, func(seen watch.Seen, at int64) { w.count(seen, at, current, secs) })
	}
}

// count counts an event that arrived at a time in a second.
func (w *watchers) count(seen watch.Seen, now int64, s *second, secs *secondQueue) {
	if w.fine && s != nil {
		w.within(&seen, now, s)
	}
	if s == nil {
		s = w.tail.second
	}
	if s == nil || !seen.Counts || s.Phase != seen.Phase {
		return
	}
	if seen.Duplicate {
		s.Watch.Duplicated++
		return
	}
	s.Watch.Delivered++
	if seen.Reordered {
		s.Watch.Reordered++
	}
	if !seen.Timed {
		s.Watch.Untimed++
		return
	}
	secs.record(&s.Watch.FromDue, now-seen.Due)
	secs.record(&s.Watch.FromSent, now-seen.Sent)
}

// within notes when in the second an event came.
func (w *watchers) within(seen *watch.Seen, now int64, s *second) {
	after := int64(-1)
	if seen.Timed {
		after = now - seen.Sent
	}
	if f := s.fine(); !seen.Duplicate {
		f.Told(after, now-s.start)
		if seen.ShowsPassed {
			f.Missed(seen.Passed, seen.MadeUp, now-s.start)
		}
	}
}

// broke notes that a watcher was created again, or has ended for good.
func (w *watchers) broke(again bool, now int64, s *second) {
	if w.fine && s != nil {
		s.fine().WatcherEnded(again, now-s.start)
	}
}

// holdTail keeps the last second open for events that are yet to come.
func (w *watchers) holdTail(s *second) {
	if !w.none && s != nil && s.Phase == measure.Measured {
		w.tail.hold(s)
	}
}

// due notes when a write is due, of which watchers may get an event. There is something
// that watches.
func (w *watchers) due(sl *slot, kind kv.Kind) {
	if kind.Writes() {
		w.cfg.Board.Times.Due(sl.acc.Phase, sl.n, sl.due)
	}
}

// acked notes that a write was acknowledged at the given time, and at which revision of the
// store it was done. There is something that watches.
func (w *watchers) acked(sl *slot, ev *store.Event, at int64) {
	if !sl.kind.Writes() {
		return
	}
	if w.cfg.Board.Answers != nil && ev.At > 0 && ev.Outcome == kv.OK {
		w.cfg.Board.Answers.Put(ev.At, sl.acc.Phase, sl.n)
	}
	w.cfg.Board.Times.Acked(sl.acc.Phase, sl.n, at)
	if w.cfg.Acknowledged != nil {
		w.cfg.Acknowledged(sl.kind, sl.ref, sl.sent, ev)
	}
}

// mayBeDone notes that a write failed, and may have been done.
func (w *watchers) mayBeDone(sl *slot) {
	if w.cfg != nil && w.cfg.Unsure != nil && sl.kind.Writes() {
		w.cfg.Unsure(sl.kind, sl.ref)
	}
}

// sent notes when a connection's writes are sent before they are: their events
// may come, in another loop, as soon as they are written.
func (w *watchers) sent(c *conn, i int, at int64) {
	if w.cfg == nil {
		return
	}
	for _, u := range c.unsent {
		if sl := &w.ops.table[u.tag]; sl.state == submitted && int(sl.conn) == i && sl.kind.Writes() {
			w.cfg.Board.Times.Sent(sl.acc.Phase, sl.n, at)
		}
	}
}
