package kubernetes

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// progressEvery is the interval between progress requests. The watch streams take turns: each
// request is sent on the next stream. The interval equals the interval of the listings that depend
// on progress.
const progressEvery = time.Second

// Watching implements app.Script. The API server's cache watches each resource on a separate
// stream. Each of these watches starts at the beginning of the load, requests previous values and
// progress notifications, and requires that the member has a leader. The API server's compactor
// watches the compaction key.
func (s *Script) Watching() *watch.Plan {
	paths, of := Watched()
	w := &watch.Plan{Streams: len(paths) + 1, AskEvery: progressEvery}
	w.Sink = watch.Config{Board: s.board, Names: &names{script: s, of: of, compaction: uint32(len(paths))}}
	for i := range paths {
		var one watch.Watcher
		if i < len(of) {
			first, next := s.keys.First[of[i]], s.keys.First[of[i]+1]
			one = watch.Watcher{First: uint64(first), Keys: uint64(next - first)}
		}
		w.Sink.Watchers = append(w.Sink.Watchers, one)
	}
	w.Sink.Watchers = append(w.Sink.Watchers, watch.Watcher{First: uint64(s.keys.Count()), Keys: 1})
	var key, end []byte
	w.Fill = func(n uint32, op *store.Op) {
		op.Watch.Start = s.begun + 1
		if int(n) == len(paths) {
			key = append(key[:0], s.compaction...)
			op.Key = key
			return
		}
		key = s.keys.AppendPath(key[:0], paths[n])
		end = append(end[:0], key...)
		end[len(end)-1]++ // the path ends with a slash, so this is the end of its prefix
		op.Key, op.Watch.End = key, end
		op.Watch.PrevKV, op.Watch.Notify, op.Watch.RequireLeader = true, true, true
	}
	return w
}

// names finds a watch event's object, and the call that wrote the event.
type names struct {
	script     *Script
	of         []Resource
	compaction uint32 // index of the watcher for the compaction key
}

func (w *names) Number(watcher uint32, key []byte) (uint64, bool) {
	switch {
	case watcher == w.compaction:
		return uint64(w.script.keys.Count()), string(key) == w.script.compaction
	case int(watcher) >= len(w.of):
		return 0, false
	}
	number, ok := w.script.keys.Number(w.of[watcher], key)
	return uint64(number), ok
}

// Written finds the call that wrote an event. It reads the number of the call from the event's
// value. The removal of a pod has no value, so its call is found by the pod. This is possible
// because each pod is deleted only once.
func (w *names) Written(ev *store.Event) (uint64, bool) {
	if ev.Watcher == w.compaction {
		by := max(w.script.marking, w.script.markedBy)
		return uint64(by) - 1, by > 0
	}
	r := w.of[ev.Watcher]
	if len(ev.Value) > 0 {
		return w.script.values[r].Number(ev.Key, ev.Value)
	}
	number, ok := w.script.keys.Number(r, ev.Key)
	if !ok || r != Pods {
		return 0, false
	}
	by := w.script.deleted[number-w.script.keys.First[r]]
	return uint64(by) - 1, by > 0
}
