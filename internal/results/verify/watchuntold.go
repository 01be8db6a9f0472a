package verify

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// toldBefore is what a watcher was told last of a key.
type toldBefore struct {
	revision int64
	ord      uint32
}

// watcherKey is a key of a watcher.
type watcherKey struct {
	watcher uint32
	key     uint64
}

// toldInTime takes what a watcher was told by a store that does not tell the
// revisions of its writes. An event shows a version as a read does that says nothing
// of how old it may be.
func (p *pass) toldInTime(o *history.Op) {
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
				p.found.add(finding{kind: OtherKey, promise: history.WatchTrue, key: o.Key, n: 1, ords: [3]uint32{p.ord}, revision: o.Mod})
			}
			return
		}
		if p.in(o.Key) {
			p.inOrder(o)
			e := entry{at: o.Done, time: o.Done, value: o.Read, mod: o.Mod, ord: p.ord, role: notice, member: p.member(o)}
			if o.Read == history.Absent { // its revision is of the answer, and not of a version
				e.mod, e.lo = 0, o.Mod
			}
			p.table.add(o.Key, &e)
		}
	}
}

// inOrder checks what a watcher is told against what it was told before of the key.
func (p *pass) inOrder(o *history.Op) {
	w, at := p.watchers, watcherKey{o.Session, o.Key}
	if w.before == nil {
		w.before = map[watcherKey]toldBefore{}
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
	w.before[at] = toldBefore{o.Mod, p.ord} // where it went back, what follows is told anew
}

// goneInTime checks a watcher that was told, in an answer of a revision, that the key is
// gone. It cannot be where a version of that revision or an earlier one was shown, or the
// key was there when the history began, and no write had begun that deletes it. What is of
// before can have been deleted then.
func (k *keyChecker) goneInTime(r *timed) {
	t := &k.timed
	if !k.based || r.answer <= k.base || t.deletes.until(r.ended, t.writes) >= 0 {
		return
	}
	f := finding{kind: LostWrite, promise: history.Snapshot, n: 2, ords: [3]uint32{0, r.ord}, revision: r.answer}
	for i := range t.reads {
		if x := &t.reads[i]; x.mod > k.base && x.mod <= r.answer {
			f.ords[0], f.state = x.ord, fmt.Sprintf("revision %d, it had the version of revision %d, and nobody had begun to delete it", r.answer, x.mod)
			k.add(f)
			return
		}
	}
	for i := range t.writes {
		if w := &t.writes[i]; w.role == wrote && w.ended == 0 && !w.is(isDelete) {
			f.ords[0], f.state = w.ord, fmt.Sprintf("revision %d, it had been there since before the load began, and nobody had begun to delete it", r.answer)
			k.add(f)
			return
		}
	}
}
