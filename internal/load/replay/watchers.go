package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// stream identifies a watcher in a recording.
type stream struct {
	conn, stream uint32
	watcher      int64
}

// findWatchers finds the calls that start or end each watcher. `events` contains, by watcher, the
// number of events that the watcher received in the recording.
func (p *Plan) findWatchers(events map[stream]uint64) {
	w := &p.watchers
	w.byCall = map[int32]uint32{}
	numbers := map[stream]uint32{}
	for n, c := range p.calls {
		if c.Parts[0].Action != call.Watch {
			continue
		}
		at, number := stream{c.Conn, c.Stream, c.Lease}, uint32(len(w.startCalls)) // #nosec G115 -- a plan has few enough calls
		w.byCall[int32(n)] = number
		w.startCalls, w.recordedEvents = append(w.startCalls, int32(n)), append(w.recordedEvents, 0)
		if c.OK() && c.Lease > 0 {
			numbers[at], w.recordedEvents[number] = number, events[at]
			w.total += events[at]
		}
	}
	for n, c := range p.calls {
		if part := &c.Parts[0]; part.Action == call.Unwatch {
			number, ok := numbers[stream{c.Conn, c.Stream, part.Number}]
			if !ok {
				number = unknownWatcher
			}
			w.byCall[int32(n)] = number
		}
	}
	w.replayedEvents = make([]uint64, len(w.startCalls))
}

// needWatch adds the waits that concern watchers and revisions. The start of a watcher, a
// compaction and a read at a revision wait for the latest write up to that revision. The end of a
// watcher waits for the watcher's start, and for the writes that the watcher must report. Writes
// and compactions wait for starts and ends of watchers (see needWatchers).
func (f *finder) needWatch(part *call.Part) {
	switch part.Action {
	case call.Watch:
		f.needUntil(part.Number - 1)
		if part.Number == 0 { // earlier writes are not reported to the watcher
			f.needUntil(f.plan.calls[f.current].Revision)
		}
	case call.Compaction: // first, watchers that start at earlier revisions must have started
		f.needUntil(part.Number)
		f.needWatchers()
	case call.Read:
		f.needUntil(part.Number)
	case call.Unwatch:
		f.needUntil(f.plan.calls[f.current].Revision) // its last events must arrive before
		if w := &f.plan.watchers; w.byCall[f.current] != unknownWatcher {
			f.need(w.startCalls[w.byCall[f.current]])
		}
	case call.Write, call.Remove: // watchers must report this write
		f.needWatchers()
	}
}

// needWatchers makes the call wait for the latest calls that started or ended watchers, if their
// responses had arrived when this call was sent.
func (f *finder) needWatchers() {
	for _, n := range f.watches {
		f.needEnded(n)
	}
}

// needUntil makes the call wait for the latest write up to the given revision.
func (f *finder) needUntil(revision int64) {
	made := f.plan.revisions
	if i := sort.Search(len(made), func(i int) bool { return made[i].number > revision }); revision > 0 && i > 0 {
		f.need(made[i-1].call)
	}
}

// replayCompaction returns the revision to which the replay must compact instead of the recorded
// revision. The result must not be too high for a watcher that started at the recorded revision,
// because the store may not have read the watcher's events yet. Therefore the result is at most the
// revision at which such a watcher starts in the replay. This revision can be the lower one,
// because the replay may execute writes of other keys in a different order.
func (p *Plan) replayCompaction(recorded int64) int64 {
	now := p.revisionAt(recorded)
	if now <= 0 {
		return max(p.baseRevision, 1)
	}
	if from := p.replayWatchStart(recorded); from > 0 {
		return min(now, from)
	}
	return now
}

// replayWatchStart returns the revision at which a watcher starts in the replay, or 0 for the
// store's current revision.
func (p *Plan) replayWatchStart(recorded int64) int64 {
	if recorded > 0 {
		if now := p.revisionAt(recorded - 1); now > 0 {
			return now + 1
		}
	}
	return 0
}
