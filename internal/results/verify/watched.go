package verify

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// watched compares the watch events of a key with the versions of the key.
func (k *keyChecker) watched() {
	if len(k.watchers.all) == 0 {
		return
	}
	slices.SortFunc(k.events, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.watcher(), b.watcher()), cmp.Compare(a.at, b.at), cmp.Compare(a.ord, b.ord))
	})
	for i := range k.events {
		e := &k.events[i]
		k.replaced(e)
		switch {
		case i > 0 && k.events[i-1].at == e.at && k.events[i-1].watcher() == e.watcher():
			k.add(finding{kind: EventTwice, promise: history.WatchOnce, n: 2, ords: [3]uint32{k.events[i-1].ord, e.ord}, revision: e.at})
		case e.flagged(isLate):
			k.add(finding{kind: EventLate, promise: history.WatchOrder, n: 2, ords: [3]uint32{e.after(), e.ord}, revision: e.at})
		case e.flagged(isSplit):
			k.add(finding{kind: EventSplit, promise: history.WatchFullRevisions, n: 2, ords: [3]uint32{e.after(), e.ord}, revision: e.at})
		}
	}
	k.watchers.forKey(k.key, k.missed)
}

// replaced checks the previous version that a watch event contains.
func (k *keyChecker) replaced(e *entry) {
	if e.mod == 0 {
		return
	}
	i := k.upTo(e.at - 1)
	if i < 0 || k.versions[i].rev <= e.mod && e.mod < e.at {
		return
	}
	v := &k.versions[i]
	k.add(finding{kind: WrongBefore, promise: history.WatchAccurate, n: 2, ords: [3]uint32{v.ord, e.ord}, revision: e.at, state: v.state()})
}

// missed finds versions that a watcher did not receive, although it received later versions or a
// progress notification.
func (k *keyChecker) missed(place uint32) {
	w := &k.watchers.all[place]
	until, by := w.completeUntil()
	at := func(e entry, of int64) int {
		return cmp.Or(cmp.Compare(e.watcher(), place), cmp.Compare(e.at, of))
	}
	next, _ := slices.BinarySearchFunc(k.events, w.from, at)
	for i := k.upTo(w.from-1) + 1; i < len(k.versions) && k.versions[i].rev <= until; i++ {
		v := &k.versions[i]
		for next < len(k.events) && at(k.events[next], v.rev) < 0 {
			next++
		}
		known := next < len(k.events) && k.events[next].watcher() == place
		if known && k.events[next].at == v.rev || v.done < 0 && !v.seen || w.isUnsubscribed(v.rev) {
			continue
		}
		promise := history.WatchAll
		if w.newest { // such a watcher may miss a version if a later one exists, or a deletion if it has already received one
			gone := !v.exists() && next > 0 && k.events[next-1].watcher() == place && k.events[next-1].value == history.Absent
			if known || gone || i+1 < len(k.versions) && k.versions[i+1].rev <= until {
				continue
			}
			promise = history.WatchProgress
		}
		f := finding{kind: EventLost, promise: promise, n: 2, ords: [3]uint32{v.ord, by}, revision: v.rev}
		if known {
			f.ords[1] = k.events[next].ord
		}
		k.add(f)
	}
}
