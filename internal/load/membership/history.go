package membership

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The numbers of keys are those of the instances.

// Keys implements load.Checked.
func (s *Script) Keys() uint64 { return uint64(s.schedule.All()) }

// AppendKey implements load.Checked.
func (s *Script) AppendKey(b []byte, number uint64) []byte {
	return s.schedule.AppendKey(b, s.setup.Prefix, uint32(number))
}

// chronicle records what the calls were, for who checks the answers: a registration is a
// compare-and-set that is to find nothing, and the end of its session a delete that may
// have been done.
type chronicle struct {
	engine.HistoryBase
	script *Script
	to     *history.Recorder
	heard  watch.History
	key    []byte
}

var _ engine.Chronicler = (*chronicle)(nil)

// Chronicle implements load.Checked.
func (s *Script) Chronicle(to *history.Recorder) engine.Chronicler {
	return &chronicle{script: s, to: to, heard: watch.History{To: to, Watchers: s.Watching().Sink.Watchers}}
}

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	n, ev, o := done.N, done.Event, done.Op
	e := c.script.schedule.Entries[n]
	o.Key, o.At = uint64(e.Object), max(ev.At, 0)
	switch e.Call {
	case data.Register:
		if o.Kind, o.Written = kv.CAS, keys.Identity(n); o.Outcome == kv.Conflict {
			o.Read = history.Unseen // what stands there was not asked for
		}
	case data.Lookup:
		c.found(ev, o)
	}
	c.to.Add(o)
}

// MayEnd implements engine.History. The reference of an operation is its number.
func (c *chronicle) MayEnd(n uint64, session uint32, from, now int64) {
	o := history.MayBeGone(uint64(c.script.schedule.Entries[n].Object), session, from, now)
	c.to.Add(&o)
}

// SessionEnded implements engine.History.
func (c *chronicle) SessionEnded(n uint64, o *history.Op) {
	o.Key, o.Written = uint64(c.script.schedule.Entries[n].Object), keys.Identity(n)
	c.to.Add(o)
}

// Read implements engine.Chronicler.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.found(ev, o)
	c.to.Add(o)
}

// found is what a read of an instance says of it.
func (c *chronicle) found(ev *store.Event, o *history.Op) {
	if o.Outcome == kv.OK {
		c.key = c.script.AppendKey(c.key[:0], o.Key)
		o.Read, o.Mod = c.script.values.Of(c.key, ev.Value), max(ev.Mod, 0)
	}
}

// Told implements engine.History.
func (c *chronicle) Told(watcher uint32, ev *store.Event, asked, from, now int64) {
	c.heard.Told(watcher, ev, asked, from, now, c)
}

// Happened implements watch.Happened, of an event without a value. It is false of an
// instance of the watcher's service that is none of this load's: others may have left it.
func (c *chronicle) Happened(watcher uint32, ev *store.Event, o *history.Op) bool {
	s := c.script
	number, ours := s.schedule.Number(s.setup.Prefix, ev.Key)
	if !ours {
		o.Outcome = kv.WrongAnswer
		c.key = s.schedule.AppendService(c.key[:0], s.setup.Prefix, uint32(c.heard.Watchers[watcher].First)/s.schedule.Room)
		return !bytes.HasPrefix(ev.Key, c.key)
	}
	if o.Key = uint64(number); ev.Version != 0 {
		o.Read = history.Unseen
	}
	return true
}
