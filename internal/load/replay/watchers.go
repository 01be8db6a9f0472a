package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// stream is where watchers have their numbers.
type stream struct {
	conn, stream uint32
	watcher      int64
}

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
