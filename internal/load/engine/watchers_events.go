package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Watch events are counted in the second in which they arrive. Their latency is measured from the
// write that caused them, so this file also records when writes were due, sent and acknowledged.

// handleEvent processes a watch event that arrived at the time `now`.
func (w *watchers) handleEvent(ev *store.Event, now int64, s *second, secs *secondQueue) {
	w.lastRevision[ev.Watcher] = max(w.lastRevision[ev.Watcher], ev.Revision)
	w.events++
	w.recordEvent(ev.Watcher, ev, 0, now)
	seen := w.cfg.Sink.Receive(ev, now)
	w.checkCaughtUp()
	w.count(seen, now, s, secs)
}

// resolve counts earlier events whose writes were unknown when the events arrived, and are known
// now.
func (w *watchers) resolve(now int64, current *second, secs *secondQueue) {
	if !w.isEmpty {
		w.cfg.Sink.Resolve(now, func(seen watch.EventReport, at int64) { w.count(seen, at, current, secs) })
	}
}

// count counts an event that arrived at the time `now`. It uses second s or, if the window has
// closed, the last second of the window.
func (w *watchers) count(seen watch.EventReport, now int64, s *second, secs *secondQueue) {
	if w.recordsSlots && s != nil {
		w.recordSlotDetail(&seen, now, s)
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

// recordSlotDetail records an event and its time since the start of the current one-second
// interval.
func (w *watchers) recordSlotDetail(seen *watch.EventReport, now int64, s *second) {
	after := int64(-1)
	if seen.Timed {
		after = now - seen.Sent
	}
	if f := s.slotDetail(); !seen.Duplicate {
		f.CountEvent(after, now-s.start)
		if seen.ShowsMissing {
			f.CountMissing(seen.NewlyMissing, seen.NoLongerMissing, now-s.start)
		}
	}
}

// noteEnded records that a watcher ended. `recreated` is set if the watcher was created again. It
// is unset if the store refused the watcher.
func (w *watchers) noteEnded(recreated bool, now int64, s *second) {
	if w.recordsSlots && s != nil {
		s.slotDetail().CountWatcherEnd(recreated, now-s.start)
	}
}

// holdTail keeps the window's last second open for events that arrive after the window.
func (w *watchers) holdTail(s *second) {
	if !w.isEmpty && s != nil && s.Phase == measure.Measured {
		w.tail.hold(s)
	}
}

// noteDue records when a write was due. It must be called only if the load has watchers.
func (w *watchers) noteDue(sl *slot, kind kv.Kind) {
	if kind.Writes() {
		w.cfg.Board.Times.SetDue(sl.acc.Phase, sl.n, sl.due)
	}
}

// noteAcked records when a write was acknowledged, and the revision at which the store executed it.
// It must be called only if the load has watchers.
func (w *watchers) noteAcked(sl *slot, ev *store.Event, at int64) {
	if !sl.kind.Writes() {
		return
	}
	if w.cfg.Board.RevisionWriters != nil && ev.StoreRevision > 0 && ev.Outcome == kv.OK {
		w.cfg.Board.RevisionWriters.Put(ev.StoreRevision, sl.acc.Phase, sl.n)
	}
	w.cfg.Board.Times.SetAcknowledged(sl.acc.Phase, sl.n, at)
	if w.cfg.OnAcknowledged != nil {
		w.cfg.OnAcknowledged(sl.kind, sl.ref, sl.sent, ev)
	}
}

// noteUncertain records that a write failed although the store may have executed it.
func (w *watchers) noteUncertain(sl *slot) {
	if w.cfg != nil && w.cfg.OnUncertain != nil && sl.kind.Writes() {
		w.cfg.OnUncertain(sl.kind, sl.ref)
	}
}

// noteSent records the time at which a connection's pending writes are sent. It is called before
// the write call, because another loop may receive the events as soon as the writes are on the
// network.
func (w *watchers) noteSent(c *conn, i int, at int64) {
	if w.cfg == nil {
		return
	}
	for _, u := range c.unsent {
		if sl := &w.slots.table[u.tag]; sl.state == submitted && int(sl.conn) == i && sl.kind.Writes() {
			w.cfg.Board.Times.SetSent(sl.acc.Phase, sl.n, at)
		}
	}
}
