package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Watches counts the watch events of all watchers.
type Watches struct {
	Watchers, Events, Progress uint64
	Resumed                    uint64 // re-creations of watchers after a lost connection
	Ended                      uint64 // watchers that the store ended permanently: later events are not missing
}

// watcher is the state of one watcher.
type watcher struct {
	session     uint32
	first, keys uint64
	from        int64 // it must receive every later revision
	high        int64 // highest revision received, and the part of a message that carried it
	highBy      uint32
	newest      bool  // it may receive only the newest version
	gaps        []gap // during which it was away
	reached     int64 // highest revision of its progress notifications
	reachedBy   uint32
}

// gap is a range of revisions (after, upTo] whose events a watcher could not receive: its
// connection was lost and it resumed at the present, or it received a deletion without its
// revision.
type gap struct{ after, upTo int64 }

// isUnsubscribed reports whether the watcher could not receive events of a revision.
func (w *watcher) isUnsubscribed(revision int64) bool {
	for _, g := range w.gaps {
		if revision > g.after && revision <= g.upTo {
			return true
		}
	}
	return false
}

// completeUntil returns the revision up to which the watcher has all events, and the operation that
// proves it.
func (w *watcher) completeUntil() (revision int64, by uint32) {
	if w.reached > w.high {
		return w.reached, w.reachedBy
	}
	return w.high, w.highBy
}

// watchers holds the watchers of a history.
type watchers struct {
	places map[uint32]uint32 // by session
	all    []watcher
	total  Watches

	before map[watcherKey]lastEvent // for stores without revisions of writes

	byKey map[uint64][]uint32 // watchers of few keys
	wide  []uint32            // watchers of many keys
}

// fewKeys is the largest number of keys of a watcher in byKey.
const fewKeys = 64

func newWatchers() *watchers {
	return &watchers{places: map[uint32]uint32{}, byKey: map[uint64][]uint32{}}
}

// begin processes the creation of a watcher, including a repeated one.
func (w *watchers) begin(o *history.Op) {
	if at, ok := w.places[o.Session]; ok {
		if o.Outcome != kv.Miss {
			w.total.Resumed++
		}
		if o.Mod == 0 {
			one := &w.all[at]
			after, _ := one.completeUntil()
			one.gaps = append(one.gaps, gap{after, o.At})
			one.reached = min(one.reached, o.At)
		}
		return
	}
	at := uint32(len(w.all))
	w.places[o.Session] = at
	from := o.Mod
	if from == 0 {
		from = o.At + 1
	}
	w.all = append(w.all, watcher{session: o.Session, first: o.Key, keys: o.Written, from: from, newest: o.Joined})
	w.total.Watchers++
	if o.Written > fewKeys {
		w.wide = append(w.wide, at)
		return
	}
	for i := range o.Written {
		w.byKey[o.Key+i] = append(w.byKey[o.Key+i], at)
	}
}

// forKey calls do with the place of each watcher of a key.
func (w *watchers) forKey(key uint64, do func(place uint32)) {
	for _, at := range w.byKey[key] {
		do(at)
	}
	for _, at := range w.wide {
		if one := &w.all[at]; key-one.first < one.keys {
			do(at)
		}
	}
}

func (w *watcher) watches(o *history.Op) bool {
	return o.Outcome == kv.OK && o.Key-w.first < w.keys
}

// An event is an entry. Its at is the event's revision, value the key's new value, and mod and lo
// the previous version and value. Its time holds the watcher's place and the number of the event
// after which it should not have come.

func eventOf(w *watcher, place uint32, o *history.Op, ord uint32) entry {
	e := entry{at: o.Mod, value: o.Read, mod: o.Expected, lo: int64(o.Written), ord: ord, role: notice}
	switch {
	case o.Mod < w.high:
		e.flags |= isLate
	case o.Mod == w.high && !o.Joined:
		e.flags |= isSplit
	}
	e.time = int64(place)<<32 | int64(w.highBy)
	return e
}

func (e *entry) watcher() uint32 { return uint32(e.time >> 32) }
func (e *entry) after() uint32   { return uint32(e.time) }
func (e *entry) before() uint64  { return uint64(e.lo) }

// lastEvent is the last event of a key that a watcher received.
type lastEvent struct {
	revision int64
	ord      uint32
}

// watcherKey is a key of a watcher.
type watcherKey struct {
	watcher uint32
	key     uint64
}
