package watch

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Telling is what a load knows of a watcher whose history is kept.
type Telling struct {
	Watcher
	Number uint32 // its number among those of all loops
	Newest bool   // it is told of the newest version alone
}

// Told is what a watcher was told now (engine.History), but for the key and the values
// of an event; ok is false of what says nothing.
func (t *Telling) Told(ev *store.Event, asked, from, now int64) (o history.Op, ok bool) {
	o = history.Op{
		Kind: kv.Watch, Session: t.Number, Member: ev.Member, Key: t.First, Outcome: ev.Outcome,
		Invoked: now, Done: now, At: max(ev.At, 0), Mod: max(ev.Revision, 0),
	}
	if ev.What == store.Notify && ev.Mod < 0 {
		// A deletion, and it is not told which, nor what was before it: it is told of what
		// comes behind the answer that the key is not there.
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

// History records what the watchers of a Plan are told, for who checks the answers.
type History struct {
	To       *history.Recorder
	Watchers []Watcher
	Newest   bool // they are told of the newest version alone
	told     history.Op
}

// Happened says what an event was of.
type Happened interface {
	// Happened sets the key and the values of what an event tells a watcher. It is false
	// for an event that is not recorded.
	Happened(watcher uint32, ev *store.Event, o *history.Op) bool
}

// Told records what a watcher was told now (engine.History).
func (h *History) Told(watcher uint32, ev *store.Event, asked, from, now int64, of Happened) {
	t := Telling{Watcher: h.Watchers[watcher], Number: watcher, Newest: h.Newest}
	o, ok := &h.told, false
	if *o, ok = t.Told(ev, asked, from, now); ok && (o.Watch != history.Happened || of.Happened(watcher, ev, o)) {
		h.To.Add(o)
	}
}
