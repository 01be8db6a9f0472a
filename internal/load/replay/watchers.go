package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// watchers are those that a recording begins: each again on one connection, with what it
// was told then and is told now.
type watchers struct {
	of    map[int32]uint32 // by call: whose beginning or end it asks for
	by    []int32          // by watcher: the call that begins it
	then  []uint64         // events that it was told when it was recorded
	now   []uint64
	ended uint64 // by the store now

	total, told uint64 // of then and now
	asked, till int64  // how far they were when they were asked for last, and until when more is awaited
}

// unknownWatcher is the number of a watcher whose beginning is not in the recording.
const unknownWatcher = 1<<31 - 1

// stream is where watchers have their numbers.
type stream struct {
	conn, stream uint32
	watcher      int64
}

// quiet is how long, in nanoseconds, nothing has come when no more events are awaited.
const quiet = int64(500_000_000)

// findWatchers finds which calls are of which watcher; events is what each was told.
func (p *Plan) findWatchers(events map[stream]uint64) {
	w := &p.watchers
	w.of = map[int32]uint32{}
	numbers := map[stream]uint32{}
	for n, c := range p.calls {
		if c.Parts[0].Action != call.Watch {
			continue
		}
		at, number := stream{c.Conn, c.Stream, c.Lease}, uint32(len(w.by)) // #nosec G115 -- a plan has few enough calls
		w.of[int32(n)] = number
		w.by, w.then = append(w.by, int32(n)), append(w.then, 0)
		if c.OK() && c.Lease > 0 {
			numbers[at], w.then[number] = number, events[at]
			w.total += events[at]
		}
	}
	for n, c := range p.calls {
		if part := &c.Parts[0]; part.Action == call.Unwatch {
			number, ok := numbers[stream{c.Conn, c.Stream, part.Number}]
			if !ok {
				number = unknownWatcher
			}
			w.of[int32(n)] = number
		}
	}
	w.now = make([]uint64, len(w.by))
}

// watch adds what a watcher's beginning or end, a compaction, or a read at a revision
// waits for: the newest write until its revision, or the beginning.
func (f *finder) watch(part *call.Part) {
	switch part.Action {
	case call.Watch:
		f.until(part.Number - 1)
		if part.Number == 0 { // what was written before is not told
			f.until(f.plan.calls[f.now].Revision)
		}
	case call.Compaction: // and so that who watches from an earlier revision has begun
		f.until(part.Number)
		f.begun()
	case call.Read:
		f.until(part.Number)
	case call.Unwatch:
		f.until(f.plan.calls[f.now].Revision) // so that it was told of that before
		if w := &f.plan.watchers; w.of[f.now] != unknownWatcher {
			f.add(w.by[w.of[f.now]])
		}
	case call.Write, call.Remove: // so that the watcher is told of it
		f.begun()
	}
}

// begun adds the newest beginnings and ends of watchers that had been answered.
func (f *finder) begun() {
	for _, n := range f.watches {
		f.ended(n)
	}
}

// until adds the newest write until a revision.
func (f *finder) until(revision int64) {
	made := f.plan.made
	if i := sort.Search(len(made), func(i int) bool { return made[i].at > revision }); revision > 0 && i > 0 {
		f.add(made[i-1].by)
	}
}

// compactedAt is the revision now up to which is compacted: not beyond that from which a
// watcher watches that began at the recorded one. Writes of other keys may have changed
// places, and the store may not have looked yet for what that watcher is to be told.
func (p *Plan) compactedAt(recorded int64) int64 {
	now := p.revisionAt(recorded)
	if now <= 0 {
		return max(p.base, 1)
	}
	if from := p.watchedFrom(recorded); from > 0 {
		return min(now, from)
	}
	return now
}

// watchedFrom is the revision now from which is watched; 0: the present.
func (p *Plan) watchedFrom(recorded int64) int64 {
	if recorded > 0 {
		if now := p.revisionAt(recorded - 1); now > 0 {
			return now + 1
		}
	}
	return 0
}

// Notified implements engine.Reactive.
func (s *source) Notified(ev *store.Event) {
	w := &s.watchers
	if int(ev.Watcher) >= len(w.now) {
		return
	}
	switch ev.What {
	case store.Notify:
		w.now[ev.Watcher]++
		w.told++
	case store.Ended:
		w.ended++
	}
}

// Awaits implements engine.Reactive.
func (s *source) Awaits(now int64) bool {
	w := &s.watchers
	if w.told >= w.total {
		return false
	}
	if told := int64(w.told); w.till == 0 || told != w.asked { // #nosec G115 -- counted one by one
		w.asked, w.till = told, now+quiet
	}
	return now < w.till
}
