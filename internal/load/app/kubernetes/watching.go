package kubernetes

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// progressInterval is the interval between progress requests. The watch streams take turns: each
// request is sent on the next stream. The interval equals smallListInterval. After such a listing,
// the API server's cache requests progress until it has reached the revision in the response.
const progressInterval = time.Second

// WatchPlan implements app.Script. The API server's cache watches each resource on a separate
// stream. Each of these watches starts at the beginning of the load, requests previous values and
// progress notifications, and requires that the member has a leader. The API server's compactor
// watches the compaction key.
func (s *Script) WatchPlan() *watch.Plan {
	paths, watchedResources := WatchedPaths()
	w := &watch.Plan{Streams: len(paths) + 1, ProgressInterval: progressInterval}
	w.Sink = watch.Config{Board: s.board, Identifier: &eventIdentifier{script: s, resources: watchedResources, compaction: uint32(len(paths))}}
	for i := range paths {
		var watcher watch.Watcher
		if i < len(watchedResources) {
			first, next := s.keys.First[watchedResources[i]], s.keys.First[watchedResources[i]+1]
			watcher = watch.Watcher{First: uint64(first), Keys: uint64(next - first)}
		}
		w.Sink.Watchers = append(w.Sink.Watchers, watcher)
	}
	w.Sink.Watchers = append(w.Sink.Watchers, watch.Watcher{First: uint64(s.keys.Count()), Keys: 1})
	var key, end []byte
	w.Fill = func(n uint32, op *store.Op) {
		op.Watch.Start = s.startRevision + 1
		if int(n) == len(paths) {
			key = append(key[:0], s.compaction...)
			op.Key = key
			return
		}
		key = s.keys.AppendPath(key[:0], paths[n])
		end = append(end[:0], key...)
		end[len(end)-1]++ // the path ends with a slash, so this is the end of its prefix
		op.Key, op.Watch.End = key, end
		op.Watch.PrevKV, op.Watch.ProgressNotifications, op.Watch.RequireLeader = true, true, true
	}
	return w
}

// eventIdentifier finds a watch event's object, and the call that caused the event.
type eventIdentifier struct {
	script     *Script
	resources  []Resource
	compaction uint32 // index of the watcher for the compaction key
}

func (w *eventIdentifier) Number(watcher uint32, key []byte) (uint64, bool) {
	switch {
	case watcher == w.compaction:
		return uint64(w.script.keys.Count()), string(key) == w.script.compaction
	case int(watcher) >= len(w.resources):
		return 0, false
	}
	number, ok := w.script.keys.Number(w.resources[watcher], key)
	return uint64(number), ok
}

// WriteNumber returns the number of the call that caused an event. It reads this number from the
// event's value. The removal of a pod has no value, so its call is found by the pod. This is
// possible because each pod is deleted only once.
func (w *eventIdentifier) WriteNumber(ev *store.Event) (uint64, bool) {
	if ev.Watcher == w.compaction {
		callNumber := max(w.script.pendingMark, w.script.latestMark)
		return uint64(callNumber) - 1, callNumber > 0
	}
	r := w.resources[ev.Watcher]
	if len(ev.Value) > 0 {
		return w.script.values[r].Number(ev.Key, ev.Value)
	}
	number, ok := w.script.keys.Number(r, ev.Key)
	if !ok || r != Pods {
		return 0, false
	}
	by := w.script.deletingCall[number-w.script.keys.First[r]]
	return uint64(by) - 1, by > 0
}
