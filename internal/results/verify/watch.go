package verify

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Watches is what watchers were told in all.
type Watches struct {
	Watchers, Events, Progress uint64
	Resumed                    uint64 // how often one was created again where its connection had been lost
	Ended                      uint64 // watchers that the store ended for good: what they had not been told is not missed
}

// watcher is what one was told so far.
type watcher struct {
	session     uint32
	first, keys uint64
	from        int64 // it is to be told of what happened from this revision on
	high        int64 // the highest that it was told of, and by which message's part
	highBy      uint32
	newest      bool  // it may be told of the newest version alone
	gaps        []gap // in which it was away
	reached     int64 // that of its progress notifications
	reachedBy   uint32
}

// gap is revisions, the first excluded and the last included, of which a watcher
// could not be told: its connection was lost, and it began again with the present, or it
// was told that a key is gone, and not which deletion that was.
type gap struct{ after, upTo int64 }

// away reports whether it could not be told of what happened at a revision.
func (w *watcher) away(revision int64) bool {
	for _, g := range w.gaps {
		if revision > g.after && revision <= g.upTo {
			return true
		}
	}
	return false
}

// until is up to which revision it has been told all, and what says so.
func (w *watcher) until() (revision int64, by uint32) {
	if w.reached > w.high {
		return w.reached, w.reachedBy
	}
	return w.high, w.highBy
}

// watchers are those of a history.
type watchers struct {
	places map[uint32]uint32 // by session
	all    []watcher
	total  Watches

	before map[watcherKey]toldBefore // where the store does not tell the revisions of its writes

	byKey map[uint64][]uint32 // those that watch few keys
	wide  []uint32            // those that watch many
}

// fewKeys is how many keys a watcher watches at most to be found by each.
const fewKeys = 64

func newWatchers() *watchers {
	return &watchers{places: map[uint32]uint32{}, byKey: map[uint64][]uint32{}}
}

// begin takes the creation of a watcher, for the first time or again.
func (w *watchers) begin(o *history.Op) {
	if at, ok := w.places[o.Session]; ok {
		if o.Outcome != kv.Miss {
			w.total.Resumed++
		}
		if o.Mod == 0 {
			one := &w.all[at]
			after, _ := one.until()
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

// of calls do with the places of those that watch a key.
func (w *watchers) of(key uint64, do func(place uint32)) {
	for _, at := range w.byKey[key] {
		do(at)
	}
	for _, at := range w.wide {
		if one := &w.all[at]; key-one.first < one.keys {
			do(at)
		}
	}
}

// told takes what a watcher was told, in the order in which it was.
func (p *pass) told(o *history.Op) {
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

func (w *watcher) watches(o *history.Op) bool {
	return o.Outcome == kv.OK && o.Key-w.first < w.keys
}

// promised checks what can be said of an event without its key's versions.
func (p *pass) promised(w *watcher, o *history.Op) {
	if !w.watches(o) {
		p.found.add(finding{kind: OtherKey, promise: history.WatchTrue, key: o.Key, n: 1, ords: [3]uint32{p.ord}, revision: o.Mod})
	}
	if o.Mod <= w.reached {
		p.found.add(finding{kind: Untrue, promise: history.WatchProgress, key: o.Key, n: 2, ords: [3]uint32{w.reachedBy, p.ord}, revision: w.reached})
	}
}

// An event is an entry whose at is its revision, value what the key then had, mod
// and lo the version and the value before, and time both the watcher's place and
// the number of the event that it should not have come after.

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

// watched checks what the key's watchers were told against its versions.
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
		case e.is(isLate):
			k.add(finding{kind: EventLate, promise: history.WatchOrder, n: 2, ords: [3]uint32{e.after(), e.ord}, revision: e.at})
		case e.is(isSplit):
			k.add(finding{kind: EventSplit, promise: history.WatchWhole, n: 2, ords: [3]uint32{e.after(), e.ord}, revision: e.at})
		}
	}
	k.watchers.of(k.key, k.missed)
}

// replaced checks that what an event says was there before it was.
func (k *keyChecker) replaced(e *entry) {
	if e.mod == 0 {
		return
	}
	i := k.upTo(e.at - 1)
	if i < 0 || k.versions[i].rev <= e.mod && e.mod < e.at {
		return
	}
	v := &k.versions[i]
	k.add(finding{kind: WrongBefore, promise: history.WatchTrue, n: 2, ords: [3]uint32{v.ord, e.ord}, revision: e.at, state: v.state()})
}

// missed finds the versions that a watcher was not told of, though it was told of
// what came after them.
func (k *keyChecker) missed(place uint32) {
	w := &k.watchers.all[place]
	until, by := w.until()
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
		if known && k.events[next].at == v.rev || v.done < 0 && !v.seen || w.away(v.rev) {
			continue
		}
		promise := history.WatchAll
		if w.newest { // told of a later one, it may pass over this; one that is gone is gone
			gone := !v.there() && next > 0 && k.events[next-1].watcher() == place && k.events[next-1].value == history.Absent
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
