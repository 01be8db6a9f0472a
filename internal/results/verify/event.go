package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkEvent processes watch events, in the order in which the watcher received them.
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

// promised checks those guarantees for an event that do not depend on the versions of its key.
func (p *pass) promised(w *watcher, o *history.Op) {
	if !w.watches(o) {
		p.found.add(finding{kind: OtherKey, promise: history.WatchAccurate, key: o.Key, n: 1, ords: [3]uint32{p.ord}, revision: o.Mod})
	}
	if o.Mod <= w.reached {
		p.found.add(finding{kind: Untrue, promise: history.WatchProgress, key: o.Key, n: 2, ords: [3]uint32{w.reachedBy, p.ord}, revision: w.reached})
	}
}

// checkEventInTime processes a watch event of a store without revisions of writes. Such an event
// shows a version, like a read without any limit for its staleness.
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
			if o.Read == history.Absent { // the event has the revision of the response, not of a version
				e.mod, e.lo = 0, o.Mod
			}
			p.table.add(o.Key, &e)
		}
	}
}

// inOrder compares a watch event with earlier events of the same key that the watcher received.
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
	w.before[at] = lastEvent{o.Mod, p.ord} // after the order went back once, later events repeat earlier ones
}
