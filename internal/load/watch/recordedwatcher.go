package watch

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// RecordedWatcher describes a watcher whose events are recorded in a history.
type RecordedWatcher struct {
	Watcher
	Number     uint32 // number of the watcher, counted over all event loops
	LatestOnly bool   // the watcher receives only the latest version of a key
}

// EventOp returns the record of an event that a watcher received at the time `now`. `requested` and
// `from` have the same meaning as in engine.History. The record does not contain
// the event's key and values. ok is false if the event must not be recorded.
func (t *RecordedWatcher) EventOp(ev *store.Event, requested, from, now int64) (o history.Op, ok bool) {
	o = history.Op{
		Kind: kv.Watch, Session: t.Number, Member: ev.Member, Key: t.First, Outcome: ev.Outcome,
		Invoked: now, Done: now, Revision: max(ev.StoreRevision, 0), ModRevision: max(ev.Revision, 0),
	}
	if ev.Type == store.WatchChange && ev.ModRevision < 0 {
		// The event is a deletion, and the deletion's revision and the previous version are
		// unknown. Record it as the start of a watcher after a response in which the key does not
		// exist.
		o.Watch, o.Outcome, o.Written, o.ContinuesPrevious = history.WatchStarted, kv.Miss, t.Keys, t.LatestOnly
		o.Revision, o.ModRevision = o.ModRevision, 0
		return o, o.Revision > 0
	}
	switch ev.Type {
	case store.OperationDone:
		o.Watch, o.Invoked, o.Written, o.ContinuesPrevious = history.WatchStarted, min(requested, now), t.Keys, t.LatestOnly
		o.Revision, o.ModRevision = o.ModRevision, from
	case store.WatchProgress:
		o.Watch = history.ProgressReached
	case store.WatchEnded:
		o.Watch = history.WatchEnded
	case store.WatchChange:
		o.Watch, o.ContinuesPrevious = history.KeyChanged, ev.Count > 0
	}
	return o, true
}

// History records the events that a Plan's watchers receive, for verification.
type History struct {
	Recorder   *history.Recorder
	Watchers   []Watcher
	LatestOnly bool // the watchers receive only the latest version of a key
	op         history.Op
}

// EventCompleter completes the records of events.
type EventCompleter interface {
	// CompleteEvent sets the key and the values of a watcher's event in o. It returns false if the
	// event must not be recorded.
	CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool
}

// Record records an event that a watcher received at the time `now`. `requested` and `from` have
// the same meaning as in engine.History.
func (h *History) Record(watcher uint32, ev *store.Event, requested, from, now int64, completer EventCompleter) {
	t := RecordedWatcher{Watcher: h.Watchers[watcher], Number: watcher, LatestOnly: h.LatestOnly}
	o, ok := &h.op, false
	if *o, ok = t.EventOp(ev, requested, from, now); ok && (o.Watch != history.KeyChanged || completer.CompleteEvent(watcher, ev, o)) {
		h.Recorder.Add(o)
	}
}
