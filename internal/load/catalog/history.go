package catalog

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// An instance has two keys: one is there while it is registered, and one while it is
// healthy besides, which is what those who use its service are told.
const keysEach = 2

func registeredNumber(object uint32) uint64 { return keysEach * uint64(object) }
func healthyNumber(object uint32) uint64    { return keysEach*uint64(object) + 1 }

// Keys implements load.Checked.
func (s *Script) Keys() uint64 { return keysEach * uint64(s.schedule.All()) }

// AppendKey implements load.Checked: both keys are in the catalog under the instance's ID.
func (s *Script) AppendKey(b []byte, number uint64) []byte {
	return s.schedule.AppendID(b, s.setup.Prefix, uint32(number/keysEach))
}

// FillRead implements load.Reader.
func (s *Script) FillRead(number uint64, level kv.Consistency, op *store.Op) {
	s.readID = s.AppendKey(s.readID[:0], number)
	s.readService = store.ServiceOp{Passing: number%keysEach == 1}
	*op = store.Op{Kind: kv.Range, Consistency: level, Key: s.readID, Service: &s.readService}
}

// There implements load.Reader.
func (s *Script) There(ev *store.Event) bool { return ev.Count > 0 }

// chronicle records what the calls were, for who checks the answers: puts and deletes of
// the instances' keys. No answer tells of which write it is: a key is there, or is not.
type chronicle struct {
	engine.HistoryBase
	script *Script
	to     *history.Recorder
	heard  watch.History // its watchers are of keys, and not of instances
	name   []byte
	begun  bool
}

var _ engine.Chronicler = (*chronicle)(nil)

// Chronicle implements load.Checked.
func (s *Script) Chronicle(to *history.Recorder) engine.Chronicler {
	c := &chronicle{script: s, to: to, heard: watch.History{To: to}}
	for _, w := range s.Watching().Sink.Watchers {
		c.heard.Watchers = append(c.heard.Watchers, watch.Watcher{First: keysEach * w.First, Keys: keysEach * w.Keys})
	}
	return c
}

// begin records, once, what is there when the load begins: it was written before, and all
// of it was acknowledged.
func (c *chronicle) begin() {
	if c.begun {
		return
	}
	c.begun = true
	for n := range uint64(c.script.schedule.There()) {
		object := c.script.schedule.BeforeAt(n)
		o := history.Op{Kind: kv.Put, Written: keys.Identity(beforeMark | n), Key: registeredNumber(object), Joined: n > 0}
		c.to.Add(&o)
		o.Key, o.Joined = healthyNumber(object), true
		c.to.Add(&o)
	}
}

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	n, ev, o := done.N, done.Event, done.Op
	c.begin()
	e := c.script.schedule.Entries[n]
	if o.Key = healthyNumber(e.Object); o.Kind == kv.Put {
		o.Written = keys.Identity(n)
	}
	switch e.Call {
	case data.Register, data.Deregister:
		c.to.Add(o)
		o.Key, o.Joined = registeredNumber(e.Object), true
	case data.Fail:
		o.Kind, o.Written = kv.Delete, history.Absent
	case data.Compare:
		o.Key = registeredNumber(e.Object)
		c.found(ev, o)
	}
	c.to.Add(o)
}

// Read implements engine.Chronicler.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.found(ev, o)
	c.to.Add(o)
}

// found is what a read says of a key: whether it is there.
func (c *chronicle) found(ev *store.Event, o *history.Op) {
	switch o.Kind = kv.Exists; {
	case o.Outcome == kv.OK && c.script.There(ev):
		o.Read = history.Unseen
	case o.Outcome == kv.OK:
		o.Outcome = kv.Miss
	}
}

// Told implements engine.History.
func (c *chronicle) Told(watcher uint32, ev *store.Event, asked, from, now int64) {
	c.begin()
	c.heard.Told(watcher, ev, asked, from, now, c)
}

// Happened implements watch.Happened. It is false of an instance of the watcher's service
// that is none of this load's: others may have left it.
func (c *chronicle) Happened(watcher uint32, ev *store.Event, o *history.Op) bool {
	s := c.script
	object, ours := s.schedule.Number(s.setup.Prefix, ev.Key)
	if !ours {
		o.Outcome = kv.WrongAnswer
		c.name = s.schedule.AppendService(c.name[:0], s.setup.Prefix, uint32(c.heard.Watchers[watcher].First/keysEach)/s.schedule.Room)
		return !bytes.HasPrefix(ev.Key, c.name)
	}
	if o.Key = healthyNumber(object); ev.Version != 0 {
		o.Read = history.Unseen
	}
	return true
}
