package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkEvent processes a message to a watcher. Callers pass the messages in the order in which the
// watcher received them.
func (p *pass) checkEvent(o *history.Op) {
	if o.Watch == history.Began {
		p.watchers.begin(o)
		return
	}
	at, ok := p.watchers.places[o.Session]
	if !ok {
		return // a damaged file
	}
	w, total := &p.watchers.all[at], &p.watchers.total
	switch o.Watch {
	case history.Reached:
		if total.Progress++; o.Mod > w.reached {
			w.reached, w.reachedBy = o.Mod, p.ord
		}
	case history.Ended:
		total.Ended++
	case history.Happened:
		total.Events++
		if p.seen.ended(o, read, p.ord); p.first {
			p.promised(w, o)
		}
		if w.watches(o) && p.in(o.Key) {
			e := eventOf(w, at, o, p.ord)
			p.table.add(o.Key, &e)
		}
		if o.Mod > w.high {
			w.high, w.highBy = o.Mod, p.ord
		}
	}
}

// promised checks two guarantees that do not depend on the versions of the event's key: the watcher
// watches the key, and no earlier progress notification covered the event's revision.
func (p *pass) promised(w *watcher, o *history.Op) {
	if !w.watches(o) {
		p.found.add(finding{kind: OtherKey, promise: history.WatchAccurate, key: o.Key, n: 1, ords: [3]uint32{p.ord}, revision: o.Mod})
	}
	if o.Mod <= w.reached {
		p.found.add(finding{kind: Untrue, promise: history.WatchProgress, key: o.Key, n: 2, ords: [3]uint32{w.reachedBy, p.ord}, revision: w.reached})
	}
}

// checkEventInTime processes a message to a watcher of a store that returns no revisions of writes.
// The check treats a watch event like a read that may be arbitrarily stale.
func (p *pass) checkEventInTime(o *history.Op) {
	w := p.watchers
	if o.Watch == history.Began {
		w.begin(o)
		return
	}
	at, ok := w.places[o.Session]
	if !ok {
		return // a damaged file
	}
	switch o.Watch {
	case history.Reached:
		w.total.Progress++
	case history.Ended:
		w.total.Ended++
	case history.Happened:
		w.total.Events++
		one := &w.all[at]
		if !one.watches(o) {
			if p.first {
				p.found.add(finding{kind: OtherKey, promise: history.WatchAccurate, key: o.Key, n: 1, ords: [3]uint32{p.ord}, revision: o.Mod})
			}
			return
		}
		if p.in(o.Key) {
			p.inOrder(o)
			e := entry{at: o.Done, time: o.Done, value: o.Read, mod: o.Mod, ord: p.ord, role: notice, member: p.member(o)}
			if o.Read == history.Absent { // for a deletion, the event contains the revision of the response instead of the revision of a version
				e.mod, e.lo = 0, o.Mod
			}
			p.table.add(o.Key, &e)
		}
	}
}

// inOrder compares a watch event with the previous event that the watcher received for the same
// key.
func (p *pass) inOrder(o *history.Op) {
	w, at := p.watchers, watcherKey{o.Session, o.Key}
	if w.before == nil {
		w.before = map[watcherKey]lastEvent{}
	}
	b, ok := w.before[at]
	f := finding{key: o.Key, n: 2, ords: [3]uint32{b.ord, p.ord}, revision: o.Mod}
	switch {
	case ok && o.Mod == b.revision:
		f.kind, f.promise = EventTwice, history.WatchOnce
	case ok && o.Mod < b.revision:
		f.kind, f.promise = EventLate, history.WatchOrder
	}
	if f.kind != "" && o.Outcome == kv.OK {
		p.found.add(f)
	}
	w.before[at] = lastEvent{o.Mod, p.ord} // so an event that is out of order causes only one finding, even if the watcher receives later events again
}
