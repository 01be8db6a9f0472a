package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkEvent processes a message to a watcher. Callers pass the messages in the order in which the
// watcher received them.
func (p *pass) checkEvent(o *history.Op) {
	if o.Watch == history.WatchStarted {
		p.watchers.begin(o)
		return
	}
	at, ok := p.watchers.places[o.Session]
	if !ok {
		return // a damaged file
	}
	w, total := &p.watchers.all[at], &p.watchers.total
	switch o.Watch {
	case history.ProgressReached:
		if total.Progress++; o.ModRevision > w.progressRevision {
			w.progressRevision, w.progressBy = o.ModRevision, p.ord
		}
	case history.WatchEnded:
		total.Ended++
	case history.KeyChanged:
		total.Events++
		if p.revisionHistory.addResponse(o, read, p.ord); p.first {
			p.checkEventGuarantees(w, o)
		}
		if w.watches(o) && p.includes(o.Key) {
			e := eventOf(w, at, o, p.ord)
			p.table.add(o.Key, &e)
		}
		if o.ModRevision > w.highestRevision {
			w.highestRevision, w.highBy = o.ModRevision, p.ord
		}
	}
}

// checkEventGuarantees checks two guarantees that do not depend on the versions of the event's key:
// the watcher watches the key, and no earlier progress notification covered the event's revision.
func (p *pass) checkEventGuarantees(w *watcher, o *history.Op) {
	if !w.watches(o) {
		p.found.add(finding{kind: EventOfWrongKey, guarantee: history.WatchAccurate, key: o.Key, operationCount: 1, ords: [3]uint32{p.ord}, revision: o.ModRevision})
	}
	if o.ModRevision <= w.progressRevision {
		p.found.add(finding{kind: WrongWatchProgress, guarantee: history.WatchProgress, key: o.Key, operationCount: 2, ords: [3]uint32{w.progressBy, p.ord}, revision: w.progressRevision})
	}
}

// checkEventInTime processes a message to a watcher of a store that returns no revisions of writes.
// The check treats a watch event like a read that may be arbitrarily stale.
func (p *pass) checkEventInTime(o *history.Op) {
	w := p.watchers
	if o.Watch == history.WatchStarted {
		w.begin(o)
		return
	}
	at, ok := w.places[o.Session]
	if !ok {
		return // a damaged file
	}
	switch o.Watch {
	case history.ProgressReached:
		w.total.Progress++
	case history.WatchEnded:
		w.total.Ended++
	case history.KeyChanged:
		w.total.Events++
		one := &w.all[at]
		if !one.watches(o) {
			if p.first {
				p.found.add(finding{kind: EventOfWrongKey, guarantee: history.WatchAccurate, key: o.Key, operationCount: 1, ords: [3]uint32{p.ord}, revision: o.ModRevision})
			}
			return
		}
		if p.includes(o.Key) {
			p.checkEventOrder(o)
			e := entry{revision: o.Done, time: o.Done, value: o.Read, versionRevision: o.ModRevision, ord: p.ord, role: watchEvent, member: p.member(o)}
			if o.Read == history.Absent { // for a deletion, the event contains the revision of the response instead of the revision of a version
				e.versionRevision, e.lo = 0, o.ModRevision
			}
			p.table.add(o.Key, &e)
		}
	}
}

// checkEventOrder compares a watch event with the previous event that the watcher received for the
// same key.
func (p *pass) checkEventOrder(o *history.Op) {
	w, at := p.watchers, watcherKey{o.Session, o.Key}
	if w.lastEvents == nil {
		w.lastEvents = map[watcherKey]lastEvent{}
	}
	b, ok := w.lastEvents[at]
	f := finding{key: o.Key, operationCount: 2, ords: [3]uint32{b.ord, p.ord}, revision: o.ModRevision}
	switch {
	case ok && o.ModRevision == b.revision:
		f.kind, f.guarantee = DuplicateEvent, history.WatchOnce
	case ok && o.ModRevision < b.revision:
		f.kind, f.guarantee = ReorderedEvent, history.WatchOrder
	}
	if f.kind != "" && o.Outcome == kv.OK {
		p.found.add(f)
	}
	w.lastEvents[at] = lastEvent{o.ModRevision, p.ord} // so an event that is out of order causes only one finding, even if the watcher receives later events again
}
