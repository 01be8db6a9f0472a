package discovery

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Model implements app.Script.
func (s *script) Model() app.Model {
	if s.schedule.catalog {
		return &catalogModel{script: s}
	}
	return sessionModel{script: s}
}

// sessionModel is the model of membership. Each instance has one key. The key's number is the
// instance's number.
type sessionModel struct {
	app.ModelBase
	*script
}

// Keys implements app.Model.
func (m sessionModel) Keys() uint64 { return uint64(m.schedule.count()) }

// AppendKey implements app.Model.
func (m sessionModel) AppendKey(b []byte, number uint64) []byte {
	return m.schedule.appendKey(b, uint32(number))
}

// NewKeyRecorder implements app.Model.
func (m sessionModel) NewKeyRecorder(recorder *history.Recorder) app.KeyRecorder {
	return &sessionRecorder{recorderBase: newRecorderBase(m.script, recorder, 1)}
}

// catalogModel is the model of a catalog. An instance has two keys. The first key exists while the
// instance is registered. The second key exists while the instance is also healthy. Watchers of the
// instance's service receive events for the second key only.
type catalogModel struct {
	*script
	readService store.ServiceOp // service part of the operation that reads a key after the load
}

const catalogKeys = 2 // per instance

func registeredNumber(object uint32) uint64 { return catalogKeys * uint64(object) }
func healthyNumber(object uint32) uint64    { return catalogKeys*uint64(object) + 1 }

// Keys implements app.Model.
func (m *catalogModel) Keys() uint64 { return catalogKeys * uint64(m.schedule.count()) }

// AppendKey implements app.Model. Both keys of an instance have the same name: the instance's ID in
// the catalog.
func (m *catalogModel) AppendKey(b []byte, number uint64) []byte {
	return m.schedule.appendKey(b, uint32(number/catalogKeys))
}

// MakeRead implements app.Model.
func (m *catalogModel) MakeRead(number uint64, op *store.Op) {
	m.readService = store.ServiceOp{Passing: number%catalogKeys == 1}
	op.Kind, op.Service = kv.Range, &m.readService
}

// Exists implements app.Model.
func (m *catalogModel) Exists(ev *store.Event) bool { return ev.Count > 0 }

// NewKeyRecorder implements app.Model.
func (m *catalogModel) NewKeyRecorder(recorder *history.Recorder) app.KeyRecorder {
	return &catalogRecorder{recorderBase: newRecorderBase(m.script, recorder, catalogKeys)}
}

// recorderBase records watch events. Both models record them in the same way.
type recorderBase struct {
	engine.HistoryBase
	script          *script
	recorder        *history.Recorder
	watchHistory    watch.History // the ranges of its watchers contain key numbers, not instance numbers
	keysPerInstance uint64        // number of keys per instance; watchers receive events for the last of them
	key             []byte
}

func newRecorderBase(s *script, recorder *history.Recorder, keysPerInstance uint64) recorderBase {
	c := recorderBase{script: s, recorder: recorder, watchHistory: watch.History{Recorder: recorder}, keysPerInstance: keysPerInstance}
	for _, w := range s.WatchPlan().Sink.Watchers {
		c.watchHistory.Watchers = append(c.watchHistory.Watchers, watch.Watcher{First: keysPerInstance * w.First, Keys: keysPerInstance * w.Keys})
	}
	return c
}

// WatchEvent implements engine.History.
func (c *recorderBase) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	c.watchHistory.Record(watcher, ev, asked, from, now, c)
}

// CompleteEvent implements watch.EventCompleter for events without a value. It returns false if the
// instance is in the watcher's service but does not belong to this load. Another program may have
// left such an instance.
func (c *recorderBase) CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool {
	d := c.script.schedule
	object, own := d.number(ev.Key)
	if !own {
		o.Outcome = kv.WrongResponse
		c.key = d.appendService(c.key[:0], uint32(c.watchHistory.Watchers[watcher].First/c.keysPerInstance)/d.numbersPerService)
		if !d.catalog {
			c.key = append(c.key, d.slash)
		}
		return !bytes.HasPrefix(ev.Key, c.key)
	}
	if o.Key = c.keysPerInstance*uint64(object) + c.keysPerInstance - 1; ev.Version != 0 {
		o.Read = history.UnknownValue
	}
	return true
}

// sessionRecorder records calls of membership. A registration is recorded as a compare-and-set that
// requires that the key does not exist. The end of the session that registered the key is recorded
// as a delete that may have been executed.
type sessionRecorder struct{ recorderBase }

// OperationEnded implements engine.History.
func (c *sessionRecorder) OperationEnded(done *engine.Completion) {
	n, ev, o := done.N, done.Event, done.Op
	e := c.script.schedule.entries[n]
	o.Key, o.Revision = uint64(e.object), max(ev.StoreRevision, 0)
	switch e.call {
	case Register:
		if o.Kind, o.Written = kv.CAS, keys.Identity(n); o.Outcome == kv.Conflict {
			o.Read = history.UnknownValue // the response does not contain the current value
		}
	case Lookup:
		c.setRead(ev, o)
	}
	c.recorder.Add(o)
}

// KeyMayBeDeleted implements engine.History. The reference n of an operation is the operation's
// number.
func (c *sessionRecorder) KeyMayBeDeleted(n uint64, session uint32, from, now int64) {
	app.RecordPossibleDelete(c.recorder, uint64(c.script.schedule.entries[n].object), session, from, now)
}

// SessionEnded implements engine.History.
func (c *sessionRecorder) SessionEnded(n uint64, o *history.Op) {
	o.Key, o.Written = uint64(c.script.schedule.entries[n].object), keys.Identity(n)
	c.recorder.Add(o)
}

// Read implements app.KeyRecorder.
func (c *sessionRecorder) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.setRead(ev, o)
	c.recorder.Add(o)
}

// setRead completes o, a read of an instance, with the value in the response.
func (c *sessionRecorder) setRead(ev *store.Event, o *history.Op) {
	if o.Outcome == kv.OK {
		c.key = c.script.schedule.appendKey(c.key[:0], uint32(o.Key))
		o.Read, o.ModRevision = c.script.values.Identity(c.key, ev.Value), max(ev.ModRevision, 0)
	}
}

// catalogRecorder records calls to a catalog as puts and deletes of the instances' keys. A response
// shows only whether a key exists. It does not show which write created the key.
type catalogRecorder struct {
	recorderBase
	initialRecorded bool
}

// recordInitial records the keys that exist at the start of the load, as writes that were
// acknowledged before the load. Only the first call of recordInitial has an effect.
func (c *catalogRecorder) recordInitial() {
	if c.initialRecorded {
		return
	}
	c.initialRecorded = true
	d := c.script.schedule
	for n := range uint64(d.initial()) {
		object := d.initialInstance(n)
		o := history.Op{Kind: kv.Put, Written: keys.Identity(app.PreloadMark | n), Key: registeredNumber(object), ContinuesPrevious: n > 0}
		c.recorder.Add(&o)
		o.Key, o.ContinuesPrevious = healthyNumber(object), true
		c.recorder.Add(&o)
	}
}

// OperationEnded implements engine.History.
func (c *catalogRecorder) OperationEnded(done *engine.Completion) {
	n, ev, o := done.N, done.Event, done.Op
	c.recordInitial()
	e := c.script.schedule.entries[n]
	if o.Key = healthyNumber(e.object); o.Kind == kv.Put {
		o.Written = keys.Identity(n)
	}
	switch e.call {
	case Register, Deregister:
		c.recorder.Add(o)
		o.Key, o.ContinuesPrevious = registeredNumber(e.object), true
	case Fail:
		o.Kind, o.Written = kv.Delete, history.Absent
	case Compare:
		o.Key = registeredNumber(e.object)
		c.setRead(ev, o)
	}
	c.recorder.Add(o)
}

// WatchEvent implements engine.History.
func (c *catalogRecorder) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	c.recordInitial()
	c.recorderBase.WatchEvent(watcher, ev, asked, from, now)
}

// Read implements app.KeyRecorder.
func (c *catalogRecorder) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.setRead(ev, o)
	c.recorder.Add(o)
}

// setRead completes o, a read, with the information whether the key exists.
func (c *catalogRecorder) setRead(ev *store.Event, o *history.Op) {
	switch o.Kind = kv.Exists; {
	case o.Outcome == kv.OK && ev.Count > 0:
		o.Read = history.UnknownValue
	case o.Outcome == kv.OK:
		o.Outcome = kv.Miss
	}
}
