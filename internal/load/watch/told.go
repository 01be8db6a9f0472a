package watch

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// RecordedWatcher describes a watcher whose events are recorded in a history.
type RecordedWatcher struct {
	Watcher
	Number uint32 // number of the watcher, counted over all event loops
	Newest bool   // the watcher receives only the latest version of a key
}

// EventOp returns the record of an event that a watcher received at the time `now`. `asked` and
// `from` have the same meaning as in engine.History. The record does not contain the event's key
// and values. ok is false if the event must not be recorded.
func (t *RecordedWatcher) EventOp(ev *store.Event, asked, from, now int64) (o history.Op, ok bool) {
	o = history.Op{
		Kind: kv.Watch, Session: t.Number, Member: ev.Member, Key: t.First, Outcome: ev.Outcome,
		Invoked: now, Done: now, At: max(ev.At, 0), Mod: max(ev.Revision, 0),
	}
	if ev.What == store.Notify && ev.Mod < 0 {
		// The event is a deletion, and the deletion's revision and the previous version are
		// unknown. Record it as the start of a watcher after a response in which the key does not
		// exist.
		o.Watch, o.Outcome, o.Written, o.Joined = history.Began, kv.Miss, t.Keys, t.Newest
		o.At, o.Mod = o.Mod, 0
		return o, o.At > 0
	}
	switch ev.What {
	case store.Done:
		o.Watch, o.Invoked, o.Written, o.Joined = history.Began, min(asked, now), t.Keys, t.Newest
		o.At, o.Mod = o.Mod, from
	case store.Seen:
		o.Watch = history.Reached
	case store.Ended:
		o.Watch = history.Ended
	case store.Notify:
		o.Watch, o.Joined = history.Happened, ev.Count > 0
	}
	return o, true
}

// History records the events that a Plan's watchers receive, for verification.
type History struct {
	To       *history.Recorder
	Watchers []Watcher
	Newest   bool // the watchers receive only the latest version of a key
	op       history.Op
}

// EventCompleter completes the records of events.
type EventCompleter interface {
	// CompleteEvent sets the key and the values of a watcher's event in o. It returns false if the
	// event must not be recorded.
	CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool
}

// Record records an event that a watcher received at the time `now`. `asked` and `from` have the
// same meaning as in engine.History.
func (h *History) Record(watcher uint32, ev *store.Event, asked, from, now int64, of EventCompleter) {
	t := RecordedWatcher{Watcher: h.Watchers[watcher], Number: watcher, Newest: h.Newest}
	o, ok := &h.op, false
	if *o, ok = t.EventOp(ev, asked, from, now); ok && (o.Watch != history.Happened || of.CompleteEvent(watcher, ev, o)) {
		h.To.Add(o)
	}
}
