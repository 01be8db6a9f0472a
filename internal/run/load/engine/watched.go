package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// notified takes an event, which arrived when the loop's clock was read last.
func (l *Loop) notified(ev *store.Event) {
	w := l.watching
	w.seen[ev.Watcher] = max(w.seen[ev.Watcher], ev.Revision)
	l.eventsLive++
	seen := w.cfg.Sink.Take(ev, l.now)
	w.tellCaught()
	s := l.clock.current
	if s == nil {
		s = w.tail
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
	l.secs.record(&s.Watch.FromDue, l.now-seen.Due)
	l.secs.record(&s.Watch.FromSent, l.now-seen.Sent)
}

// tellCaught tells, once, that the watchers have what they were to catch up with.
func (w *watching) tellCaught() {
	if w.caught || !w.cfg.Sink.Caught() {
		return
	}
	w.caught = true
	if w.cfg.Caught != nil {
		w.cfg.Caught()
	}
}

// holdTail keeps the last second open for events that are yet to come.
func (l *Loop) holdTail(s *second) {
	if w := l.watching; w != nil && s != nil && s.Phase == measure.Measured {
		w.tail = s
		s.open++
	}
}

// releaseTail gives it free.
func (l *Loop) releaseTail() {
	if w := l.watching; w != nil && w.tail != nil {
		w.tail.open--
		w.tail = nil
	}
}

// watchSettled reports whether nothing is to be awaited of the watchers any
// more: all events came that acknowledged writes make, or the timeout has
// passed since the last write of any loop. The loop is draining and has nothing
// in flight.
func (l *Loop) watchSettled() bool {
	if l.cfg.Watching == nil {
		return true
	}
	board := l.cfg.Watching.Board
	if w := l.watching; w != nil {
		if !w.quiet {
			w.quiet = true
			board.Done()
		}
		if !board.Quiet() {
			return false
		}
		if w.till == 0 {
			w.till = l.now + l.cfg.Timeout
		}
		return l.now >= w.till || w.cfg.Sink.Settled()
	}
	board.Done()
	return true
}

// tellSent notes when writes are sent before they are: their events may come,
// in another loop, as soon as they are written.
func (l *Loop) tellSent(c *conn, i int, sent int64) {
	for _, u := range c.unsent {
		if sl := &l.slots.table[u.tag]; sl.state == submitted && int(sl.conn) == i && sl.kind.Writes() {
			l.cfg.Watching.Board.Times.Sent(sl.acc.Phase, sl.n, sent)
		}
	}
}
