package kubernetes

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The number of a key is the number of its object. The compaction key and the health key have the
// next two numbers after the last object.

func (s *Script) compactionNumber() uint64 { return uint64(s.keys.Count()) }
func (s *Script) healthNumber() uint64     { return uint64(s.keys.Count()) + 1 }

// Keys implements app.Model.
func (s *Script) Keys() uint64 { return s.healthNumber() + 1 }

// AppendKey implements app.Model.
func (s *Script) AppendKey(b []byte, number uint64) []byte {
	switch number {
	case s.compactionNumber():
		return append(b, s.compaction...)
	case s.healthNumber():
		return s.keys.AppendPath(b, healthKey)
	}
	return s.keys.Append(b, uint32(number))
}

// maxUnexpiredLength is the maximum length of a load in which no event can expire with its lease.
// It leaves the time finalReadAllowance for reading the members after the load, because no event
// may expire during these reads either.
const (
	maxUnexpiredLength = EventTTL*time.Second - finalReadAllowance
	finalReadAllowance = 15 * time.Minute
)

// chronicle records the API server's calls for verification. It records guarded transactions as
// compare-and-sets, or as deletes with a comparison.
type chronicle struct {
	engine.HistoryBase
	script       *Script
	recorder     *history.Recorder
	watchHistory watch.History
	names        *eventIdentifier
	lists        lists
	paths        [][]byte // by watcher: the common prefix of the keys that it watches
	// Whether the possible expiry of the API server's entry from an earlier load has been recorded.
	entryExpiryRecorded bool
}

// NewKeyRecorder implements app.Model.
func (s *Script) NewKeyRecorder(recorder *history.Recorder) app.KeyRecorder {
	plan := s.WatchPlan()
	c := &chronicle{script: s, recorder: recorder, watchHistory: watch.History{Recorder: recorder, Watchers: plan.Sink.Watchers}, names: plan.Sink.Identifier.(*eventIdentifier)}
	c.lists.chronicle = c
	c.lists.rangeOp.Keys = &c.lists
	s.lists = &c.lists
	paths, _ := WatchedPaths()
	for _, path := range paths {
		c.paths = append(c.paths, s.keys.AppendPath(nil, path))
	}
	return c
}

// OperationEnded implements engine.History.
func (c *chronicle) OperationEnded(done *engine.Completion) {
	n, expected, ev, o := done.N, done.Expected, done.Event, done.Op
	e := c.script.schedule.Entries[n]
	if e.Call.Resource() == MasterLeases && !c.entryExpiryRecorded {
		// An earlier load on the same store may have written the entry with a lease. That lease can
		// expire during this load, before this load writes the entry.
		c.entryExpiryRecorded = true
		app.RecordPossibleDelete(c.recorder, uint64(e.Object), o.Session, o.Invoked, o.Done)
	}
	o.Revision = max(ev.StoreRevision, 0)
	switch {
	case writes(e.Call):
		c.recordWrite(n, e, expected, ev, o)
	case hasObject(e.Call):
		c.Read(uint64(e.Object), ev, o)
	case e.Call == Health:
		c.Read(c.script.healthNumber(), ev, o)
	case e.Call == MarkCompaction:
		// The response contains the key's version but not its revision. The value does not identify
		// the call that wrote it.
		o.Key, o.Written, o.Expected = c.script.compactionNumber(), keys.Identity(n), history.UnknownRevision
		if o.Outcome == kv.Conflict {
			c.setFailedCompare(ev, o)
		}
		c.recorder.Add(o)
	case o.Kind == kv.Range:
		c.recordList(e, ev.Tag, o)
	}
}

// recordWrite records a transaction that creates, updates or removes an object.
func (c *chronicle) recordWrite(n uint64, e Entry, expected int64, ev *store.Event, o *history.Op) {
	o.Key, o.Written, o.Expected = uint64(e.Object), keys.Identity(n), expected
	creates := e.Call == CreatePod || e.Call == CreateEvent
	if e.Call == DeletePod {
		o.Written, o.Kind = history.Absent, kv.Delete
		switch { // the delete of an object that does not exist has no effect
		case expected == 0 && o.Acknowledged():
			o.Kind, o.Consistency = kv.Get, kv.Linearizable
		case expected == 0 && o.Indefinite():
			return
		}
	}
	switch {
	case o.Outcome != kv.Conflict:
	case creates: // the response does not contain the existing object
		o.Read = history.UnknownValue
	default:
		c.setFailedCompare(ev, o)
	}
	c.recorder.Add(o)
	if expires := e.Call == UpdateMasterLease || c.script.eventsExpire && e.Call == CreateEvent; expires && (o.Acknowledged() || o.Indefinite()) {
		app.RecordPossibleDelete(c.recorder, o.Key, o.Session, o.Invoked, o.Done)
	}
}

// setFailedCompare completes o with the version that the transaction read because its comparison
// failed.
func (c *chronicle) setFailedCompare(ev *store.Event, o *history.Op) {
	if o.ModRevision = max(ev.ModRevision, 0); o.ModRevision == 0 {
		o.Read = history.Absent
		return
	}
	o.Read = c.identity(o.Key, ev.Value)
}

// Read implements app.KeyRecorder.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	if o.Outcome == kv.OK && ev.Revision > 0 {
		o.Read, o.ModRevision = c.identity(number, ev.Value), ev.Revision
	}
	c.recorder.Add(o)
}

// identity returns a number that identifies the write of a key's value. It returns
// history.UnknownValue if the value is unknown, for example after a listing without values.
func (c *chronicle) identity(number uint64, value []byte) uint64 {
	s := c.script
	if number >= s.compactionNumber() || len(value) == 0 {
		return history.UnknownValue
	}
	r, _ := s.keys.Resource(uint32(number))
	s.readKey = s.keys.Append(s.readKey[:0], uint32(number))
	return s.values[r].Identity(s.readKey, value)
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	c.watchHistory.Record(watcher, ev, asked, from, now, c)
}

// CompleteEvent implements watch.EventCompleter. It returns false if the event's object is in the
// watcher's range but does not belong to this load. Another load may have left such an object.
func (c *chronicle) CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool {
	number, own := c.names.Number(watcher, ev.Key)
	if !own {
		o.Outcome = kv.WrongResponse
		return int(watcher) >= len(c.paths) || len(ev.Key) < len(c.paths[watcher]) || string(ev.Key[:len(c.paths[watcher])]) != string(c.paths[watcher])
	}
	if o.Key = number; ev.Version != 0 {
		o.Read = c.identity(number, ev.Value)
	}
	if ev.PreviousRevision > 0 {
		o.Expected, o.Written = ev.PreviousRevision, c.identity(number, ev.PreviousValue)
	}
	return true
}
