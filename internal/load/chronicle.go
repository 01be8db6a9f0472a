package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// chronicle records one loop's operations for verification. The engine does not know everything
// about an operation; chronicle derives the rest, such as keys and values, from the operation's
// number and its reply.
type chronicle struct {
	engine.HistoryBase
	src        *source
	recorder   *history.Recorder
	guarantees store.Guarantees
	final      bool // the operations are final reads, which are sent after the load
	// Ranges with a fixed interval cover the keys with the numbers `firstKey` (inclusive) to
	// `endKey` (exclusive).
	firstKey, endKey uint64
	single           []foundKey // result of the last range over one key; reused memory

	watchers   []watch.Watcher // the watchers of this loop
	latestOnly bool            // the watchers receive only the latest version of a key
	numbers    []uint32        // numbers of the loop's watchers, among the watchers of all loops
	event      history.Op      // the last record about a watcher; reused memory

	stms  []stmState      // indexed by the tag of the operation
	holds map[uint32]hold // for each client: its hold on the lock
	// lateReleaseClients contains the clients of failed transactions that used a lock. An
	// unanswered request of such a transaction may still end a later hold of the same client,
	// because the later hold has the same key. So the ends of these later holds are not recorded.
	lateReleaseClients map[uint32]bool
}

var _ engine.History = (*chronicle)(nil)

// newChronicle returns the chronicle of a loop. It returns nil if the loop's operations are not
// recorded, or are recorded by a script.
func (p *plan) newChronicle(src *source) *chronicle {
	if p.recorder == nil || p.chronicler != nil {
		return nil
	}
	c := &chronicle{src: src, recorder: p.recorder(), final: p.final, guarantees: p.store.Guarantees()}
	src.stmReads = c
	if src.answers.listings.keepsKeys = c.guarantees.AtomicRanges; !src.rangesOverKeySpace() {
		c.firstKey, c.endKey = coveredKeys(src.space, src.load.RangeKey, src.load.RangeEnd)
	}
	return c
}

// OperationEnded implements engine.History.
func (c *chronicle) OperationEnded(done *engine.Completion) {
	phase, n, ref, expected, ev, o := done.Phase, done.N, done.Ref, done.Expected, done.Event, done.Op
	switch o.Kind {
	case kv.KeepAlive:
		o.Written, o.ModRevision, o.Revision = uint64(c.src.leaseFor(n, o.Session)), max(ev.Count, 0), ev.StoreRevision
		if len(c.src.leases) == 0 { // each connection has its own lease
			o.Written = uint64(o.Session)
		}
		c.recorder.Add(o)
		return
	case kv.STM:
		c.recordSTM(phase, n, ev, o)
		return
	}
	if phase == measure.Warmup {
		n |= warmupMark
	}
	o.Key, _ = keyAndLevel(ref)
	o.Revision, o.Final = ev.StoreRevision, c.final
	switch o.Kind {
	case kv.Put:
		o.Written = keys.Identity(n)
		c.setExpected(ev, o)
	case kv.CAS:
		o.Written, o.Expected = keys.Identity(n), expected
		switch {
		case o.Outcome == kv.Conflict && c.guarantees.AmbiguousResults:
			o.Outcome, o.Revision = kv.StoreError, 0
		case o.Outcome == kv.Conflict:
			c.setConflict(ev, o)
		case expected == history.UnknownRevision: // the codec has read the version itself
			c.setExpected(ev, o)
		}
	case kv.Ephemeral: // recorded like a compare-and-set with version 0
		o.Kind, o.Written, o.Expected = kv.CAS, keys.Identity(n), 0
		if o.Outcome == kv.Conflict {
			c.setConflict(ev, o)
		}
	case kv.Txn:
		c.recordTxn(n, o)
		return
	case kv.Get:
		c.setRead(ev, o)
	case kv.Range, kv.TxnGet:
		c.recordRange(ev, o)
		return
	case kv.Delete:
		if o.Outcome == kv.Miss && c.guarantees.AmbiguousResults {
			o.Outcome, o.Revision = kv.StoreError, 0
		}
	case kv.Exists:
		if o.Outcome == kv.OK {
			o.Read, o.ModRevision = history.UnknownValue, ev.ModRevision
		}
	}
	c.recorder.Add(o)
}

// recordRange records one part for each key about which the reply to a range gives information:
// keys that the reply contains, and keys that it would contain if they existed. If there is no such
// key, recordRange records the range itself.
//
// For example, the reply {2, 4} to a range over keys 1 to 5 results in five parts: 1 is absent, 2
// is found, 3 is absent, 4 is found, 5 is absent. If the range has a limit of 2, there is no part
// for key 5.
func (c *chronicle) recordRange(ev *store.Event, o *history.Op) {
	next, end := o.Key, c.src.space.N()
	if !c.src.rangesOverKeySpace() {
		next, end = c.firstKey, c.endKey
	}
	found, ok := c.listedKeys(ev, o)
	if !ok || next >= end {
		o.Read = history.UnknownValue
		c.recorder.Add(o)
		return
	}
	addRead := func(k foundKey) {
		o.Key, o.Read, o.ModRevision = k.number, k.value, k.revision
		c.recorder.Add(o)
		o.ContinuesPrevious = true
	}
	for _, k := range found {
		for ; next < min(k.number, end); next++ {
			addRead(foundKey{number: next})
		}
		if k.number >= next && k.number < end {
			addRead(k)
			next = k.number + 1
		}
	}
	if limit := c.src.load.RangeLimit; limit > 0 && ev.Count >= limit {
		end = next // the reply does not show whether there are more keys
	}
	for ; next < end; next++ {
		addRead(foundKey{number: next})
	}
	if !o.ContinuesPrevious {
		o.Read = history.UnknownValue
		c.recorder.Add(o)
	}
}

// listedKeys returns the keys that the reply to a range contains. ok is false if the reply does not
// list them.
func (c *chronicle) listedKeys(ev *store.Event, o *history.Op) (found []foundKey, ok bool) {
	s := c.src
	if !c.guarantees.AtomicRanges || !o.HasStoreData() || s.load.Scan.CountOnly {
		return nil, false
	}
	if _, end := s.interval(); len(end) > 0 {
		l := &s.answers.listings
		if !l.ascending || int(ev.Tag) >= len(l.byTag) {
			return nil, false
		}
		return l.byTag[ev.Tag].found, true
	}
	if c.single = c.single[:0]; len(ev.Key) > 0 {
		c.single = s.appendFound(c.single, ev.Key, ev.Value, ev.Revision)
	}
	return c.single, true
}

// setRead records what the read of one key returned.
func (c *chronicle) setRead(ev *store.Event, o *history.Op) {
	switch o.Outcome {
	case kv.OK:
		o.Read, o.ModRevision = keys.ReadIdentity(ev.Value), ev.VersionRevision()
	case kv.Stale, kv.Unverifiable: // the value was written by a different run
		o.Read, o.ModRevision = history.UnknownValue, ev.VersionRevision()
	}
}

// setExpected derives, from the new version of a key, the version that a put replaced. This is
// possible only if the store counts versions and the load tracks them.
func (c *chronicle) setExpected(ev *store.Event, o *history.Op) {
	switch {
	case !c.guarantees.VersionsCountWrites:
	case o.Acknowledged() && ev.Revision > 0 && c.src.versions != nil:
		o.Expected = ev.Revision - 1
	default:
		o.Expected = history.UnknownRevision
	}
}

// setConflict records the version that caused a compare-and-set to fail.
func (c *chronicle) setConflict(ev *store.Event, o *history.Op) {
	o.Read = history.UnknownValue
	if !c.guarantees.ConflictVersions {
		return
	}
	if o.ModRevision = max(ev.Revision, 0); ev.Revision == 0 {
		o.Read = history.Absent
	}
}

// recordTxn records one part for each key that a transaction writes.
func (c *chronicle) recordTxn(n uint64, o *history.Op) {
	first, space := o.Key, c.src.space.N()
	if c.guarantees.VersionsCountWrites {
		o.Expected = history.UnknownRevision
	}
	for i := range c.src.pairs {
		o.Key, o.Written, o.ContinuesPrevious = (first+uint64(i))%space, keys.Identity(n), i > 0
		c.recorder.Add(o)
	}
}

// KeyMayBeDeleted implements engine.History. It records the possible end of the session as a delete
// that may or may not have been executed.
func (c *chronicle) KeyMayBeDeleted(ref uint64, session uint32, from, now int64) {
	key, _ := keyAndLevel(ref)
	o := history.PossibleDelete(key, session, from, now)
	c.recorder.Add(&o)
}

// SessionEnded implements engine.History.
func (c *chronicle) SessionEnded(ref uint64, o *history.Op) {
	o.Key, _ = keyAndLevel(ref)
	c.recorder.Add(o)
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	t := watch.RecordedWatcher{Watcher: c.watchers[watcher], Number: c.numbers[watcher], LatestOnly: c.latestOnly}
	o, ok := &c.event, false
	if *o, ok = t.EventOp(ev, asked, from, now); !ok {
		return
	}
	if o.Watch == history.KeyChanged {
		c.setEvent(ev, o)
	}
	c.recorder.Add(o)
}

// setEvent records the content of a watch event.
func (c *chronicle) setEvent(ev *store.Event, o *history.Op) {
	number, own := c.src.space.Number(ev.Key)
	if !own {
		o.Outcome = kv.WrongResponse
		return
	}
	o.Key = number
	switch {
	case ev.Version > 0:
		o.Read = storedIdentity(c.src.values, ev.Value)
	case ev.Version < 0:
		o.Read = history.UnknownValue
	}
	if ev.PreviousRevision > 0 {
		o.Expected, o.Written = ev.PreviousRevision, storedIdentity(c.src.values, ev.PreviousValue)
	}
}
