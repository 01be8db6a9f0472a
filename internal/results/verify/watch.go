package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// watcher is the state of one watcher.
type watcher struct {
	session          uint32
	first, keys      uint64
	firstRevision    int64 // the watcher must receive the events of this revision and all later revisions
	highestRevision  int64 // highest revision that the watcher received; highBy: operation number of the event with this revision
	highBy           uint32
	newestOnly       bool  // the store may send only the newest version of a key
	gaps             []gap // ranges of revisions whose events the watcher could not receive
	progressRevision int64 // highest revision in its progress notifications
	progressBy       uint32
}

// gap is the range of revisions (after, upTo] in which a watcher could not receive events. The
// watcher had lost its connection and resumed at the newest revision, or had received a deletion
// without the revision of the deletion.
type gap struct{ after, upTo int64 }

// isUnsubscribed reports whether the watcher could not receive the events of a revision.
func (w *watcher) isUnsubscribed(revision int64) bool {
	for _, g := range w.gaps {
		if revision > g.after && revision <= g.upTo {
			return true
		}
	}
	return false
}

// completeUntil returns the revision up to which the watcher must have received all events, and the
// number of the operation that proves this.
func (w *watcher) completeUntil() (revision int64, operation uint32) {
	if w.progressRevision > w.highestRevision {
		return w.progressRevision, w.progressBy
	}
	return w.highestRevision, w.highBy
}

// watchers holds the watchers of a history.
type watchers struct {
	places map[uint32]uint32 // by session: index of the watcher
	all    []watcher
	total  record.WatchVerification

	lastEvents map[watcherKey]lastEvent // last event by watcher and key; used only for stores without revisions of writes

	byKey    map[uint64][]uint32 // watchers of at most fewKeys keys
	manyKeys []uint32            // watchers of more keys
}

// fewKeys is the maximum number of keys of a watcher that byKey contains.
const fewKeys = 64

func newWatchers() *watchers {
	return &watchers{places: map[uint32]uint32{}, byKey: map[uint64][]uint32{}}
}

// begin processes the creation or re-creation of a watcher.
func (w *watchers) begin(o *history.Op) {
	if at, ok := w.places[o.Session]; ok {
		if o.Outcome != kv.Miss {
			w.total.Resumed++
		}
		if o.ModRevision == 0 {
			one := &w.all[at]
			after, _ := one.completeUntil()
			one.gaps = append(one.gaps, gap{after, o.Revision})
			one.progressRevision = min(one.progressRevision, o.Revision)
		}
		return
	}
	at := uint32(len(w.all))
	w.places[o.Session] = at
	from := o.ModRevision
	if from == 0 {
		from = o.Revision + 1
	}
	w.all = append(w.all, watcher{session: o.Session, first: o.Key, keys: o.Written, firstRevision: from, newestOnly: o.ContinuesPrevious})
	w.total.Watchers++
	if o.Written > fewKeys {
		w.manyKeys = append(w.manyKeys, at)
		return
	}
	for i := range o.Written {
		w.byKey[o.Key+i] = append(w.byKey[o.Key+i], at)
	}
}

// forKey calls the function do with the index of each watcher of a key.
func (w *watchers) forKey(key uint64, do func(place uint32)) {
	for _, at := range w.byKey[key] {
		do(at)
	}
	for _, at := range w.manyKeys {
		if one := &w.all[at]; key-one.first < one.keys {
			do(at)
		}
	}
}

func (w *watcher) watches(o *history.Op) bool {
	return o.Outcome == kv.OK && o.Key-w.first < w.keys
}

// A watch event is stored as an entry. The field `revision` is the revision of the event, and
// `value` is the new value of the key. The fields `versionRevision` and `lo` are the revision and
// the value of the previous version. The upper half of the field `time` is the index of the
// watcher. The lower half is the number of the event with the highest revision so far, for findings
// about an event that arrived late or in a separate message.

func eventOf(w *watcher, place uint32, o *history.Op, ord uint32) entry {
	e := entry{revision: o.ModRevision, value: o.Read, versionRevision: o.Expected, lo: int64(o.Written), ord: ord, role: watchEvent}
	switch {
	case o.ModRevision < w.highestRevision:
		e.flags |= isLate
	case o.ModRevision == w.highestRevision && !o.ContinuesPrevious:
		e.flags |= isSplit
	}
	e.time = int64(place)<<32 | int64(w.highBy)
	return e
}

func (e *entry) watcher() uint32       { return uint32(e.time >> 32) }
func (e *entry) afterRevision() uint32 { return uint32(e.time) }
func (e *entry) previousValue() uint64 { return uint64(e.lo) }

// lastEvent is the last event that a watcher received for a key.
type lastEvent struct {
	revision int64
	ord      uint32
}

// watcherKey identifies a key of a watcher.
type watcherKey struct {
	watcher uint32
	key     uint64
}
