package election

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Keys are numbered as follows. An office's key has the office's number. If keys are named after
// leases, the key for a candidate's first lease has the candidate's number. Keys for later leases
// have the following numbers, in the order in which the leases were granted. The number of a
// sequential node consists of the office's number in the upper bits (see nodeShift) and the node's
// own number in the lower bits. Sequential nodes are not known in advance, so each office is listed
// after the load (see readBack).

// chronicle records the candidates' calls in the history that is verified after the load.
type chronicle struct {
	engine.HistoryBase
	script       *Script
	recorder     *history.Recorder
	callRecorder callRecorder
	candidates   []candidateRecord // by candidate
	leftKeys     app.LeftKeys
	lastTime     int64 // end of the latest operation, or time of the latest event
	// Number of watchers so far. Each wait of a candidate counts as a new watcher.
	watchers uint32
	key      []byte           // reused memory
	eventOp  history.Op       // reused memory
	members  map[int64]uint64 // key numbers, by the leases in the keys' names
	lists    uint32           // number of listings of a queue so far
}

// candidateRecord holds what has been recorded about a candidate until now.
type candidateRecord struct {
	watcher    uint32 // number of its current watcher, as recorded
	hasWatcher bool
	watchedKey uint64 // the watcher's key

	key         app.EphemeralKey // its key, which is deleted when its session or lease ends
	lease       app.Lease        // its lease
	previousKey uint64           // the key that was bound to its previous lease
	// When the previous lease was found to have ended; 0: its end was not found, or the lease had
	// no key.
	leaseEndFound int64

	hold           app.Hold // its hold of the office's lock
	replacedHolder int      // 1 + the office's holder when this candidate became leader; 0: none
	mayReleaseLate bool     // a release without a response may still be executed and end a later hold

	nodeNumber         int64  // number of its current node in a queue; 0: unknown
	latestSeenNode     int64  // number of its latest node that a response to another candidate contained
	latestRecordedNode int64  // number of its latest node that was recorded as created by a call without a response
	latestList         uint32 // number of the latest list that contains its own node
	// olderKeys holds earlier nodes that the candidate considered deleted when it created a new
	// one. If any of them still exist, they are deleted when the session ends.
	olderKeys []app.EphemeralKey
}

// callRecorder records a recipe's calls.
type callRecorder interface {
	// record records a candidate's call. It completes o, in which only the fields that depend on
	// the recipe are missing.
	record(c *chronicle, index int, call Call, ev *store.Event, o *history.Op)
	// usesLeases reports whether the recipe's keys are bound to leases. Otherwise they are bound to
	// the sessions of connections.
	usesLeases() bool
}

var _ app.KeyRecorder = (*chronicle)(nil)

// OperationEnded implements engine.History.
func (c *chronicle) OperationEnded(done *engine.Completion) {
	ref, lease, ev, o := done.Ref, done.Expected, done.Event, done.Op
	index, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- encoded by Fill
	c.leftKeys.RecordFirstCall(o.Invoked)
	c.lastTime, o.Revision = o.Done, max(ev.StoreRevision, 0)
	if o.Outcome == kv.WrongResponse && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // the response is right; only the second leader that it implies is wrong
	}
	if c.script.replacedLeader != none {
		c.candidates[index].replacedHolder, c.script.replacedLeader = c.script.replacedLeader+1, none
	}
	if c.callRecorder.usesLeases() {
		c.recordExpiries(index/c.script.Candidates, o.Done, o.Done)
	}
	if call == Renew || call == plannedRenewal {
		if c.callRecorder.usesLeases() {
			c.recordRenewal(index, lease, ev, o)
		} else {
			c.recordReached(index, o)
		}
		return
	}
	if call == Await && o.Kind == kv.Watch {
		asks := &c.script.candidates[index].stateAtCall
		key, ok := c.candidates[index].key.Number, true
		if c.members != nil {
			key, ok = c.members[asks.precedingNumber]
		}
		if ok {
			c.beginWatcher(index, key, asks.watchStart, ev, o)
		}
		return
	}
	c.callRecorder.record(c, index, call, ev, o)
}

// foreignValue is the identity of any value that no candidate in this run wrote.
const foreignValue = 1

// identity returns a number that identifies the write of the given value. The number contains the
// candidate. If each name identifies its write, it also contains the number of the write.
func (c *chronicle) identity(value []byte) uint64 {
	s := c.script
	index, run, ok := ParseCandidate(value)
	if !ok || index >= s.CandidateCount() {
		return foreignValue
	}
	which := run - s.run
	switch {
	case s.way.Recipe != SessionRace && which != 0, s.way.Recipe == SessionRace && which == 0:
		return foreignValue
	case s.way.Recipe != SessionRace:
		which = 1
	}
	return uint64(which)<<candidateBits | uint64(index) // #nosec G115 -- a count
}

// valueIdentity returns the identity of the value that is written by a candidate's call.
func (c *chronicle) valueIdentity(index int) uint64 {
	which := uint32(1)
	if c.script.way.Recipe == SessionRace {
		which = c.script.candidates[index].stateAtCall.nameNumber
	}
	return uint64(which)<<candidateBits | uint64(index) // #nosec G115 -- a count
}

// setRead completes o, a read or a refused call, with the key's value in the response. The
// parameter `mod` is the value's revision, or 0 if the key does not exist.
func (c *chronicle) setRead(ev *store.Event, mod int64, o *history.Op) {
	if o.Read = history.Absent; mod <= 0 {
		return
	}
	if o.Read, o.ModRevision = c.identity(ev.Value), mod; o.Read == foreignValue && c.script.leases == nil {
		c.leftKeys.RecordPossibleEnd(c.recorder, o.Key, o.Done)
	}
}

// beginWatcher records that a candidate waits for changes of a key. Each wait is recorded as a new
// watcher for one key. The watcher starts at revision `from`, or after the response if `from` is 0.
// A one-shot watch reports a single change.
func (c *chronicle) beginWatcher(index int, key uint64, from int64, ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	r := &c.candidates[index]
	r.watcher, r.hasWatcher, r.watchedKey = c.watchers, true, key
	c.watchers++
	c.recorder.Add(&history.Op{
		Kind: kv.Watch, Watch: history.WatchStarted, Session: r.watcher, Member: o.Member, Key: key, Written: 1, ModRevision: from, ContinuesPrevious: !c.callRecorder.usesLeases(),
		Invoked: o.Invoked, Done: o.Done, Revision: max(ev.StoreRevision, 0),
	})
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	if int(watcher) >= len(c.candidates) || !c.candidates[watcher].hasWatcher {
		return
	}
	r := &c.candidates[watcher]
	c.lastTime = now
	t := watch.RecordedWatcher{Watcher: watch.Watcher{First: r.watchedKey, Keys: 1}, Number: r.watcher}
	o, ok := &c.eventOp, false
	if *o, ok = t.EventOp(ev, asked, from, now); !ok {
		return
	}
	if ev.Type == store.WatchEnded {
		r.hasWatcher = false
		c.recorder.Add(o)
		return
	}
	if o.Watch != history.KeyChanged || !c.completeEvent(r, ev, o) {
		return
	}
	if c.callRecorder.usesLeases() {
		c.recordExpiries(int(watcher)/c.script.Candidates, now, now)
	}
	c.recorder.Add(o)
}

// completeEvent completes o, a watch event. It returns false if the event cannot be verified.
func (c *chronicle) completeEvent(r *candidateRecord, ev *store.Event, o *history.Op) bool {
	s := c.script
	switch s.way.Recipe {
	case EphemeralRace, EphemeralQueue:
		// The watch reports only one event, and old servers do not report its revision.
		if r.hasWatcher = false; ev.Revision <= 0 {
			return false
		}
	case SessionRace:
		if len(ev.PreviousValue) == 0 { // the end of a session keeps the value, but changes its revision
			return false
		}
	}
	if s.leases != nil && !c.hasNumber(r.watchedKey, ev.Key) {
		o.Outcome = kv.WrongResponse
		return true
	}
	switch {
	case ev.Version > 0:
		o.Read = c.identity(ev.Value)
	case ev.Version < 0:
		o.Read = history.UnknownValue
	}
	return true
}

// hasNumber reports whether key is the key with the given number.
func (c *chronicle) hasNumber(number uint64, key []byte) bool {
	s := c.script
	if s.way.Recipe == LeaseQueue {
		got, ok := c.numberOf(key)
		return ok && got == number
	}
	c.key = s.AppendKey(c.key[:0], number)
	return bytes.Equal(c.key, key)
}

// loseConnection records that a watcher ended because its connection was lost.
func (c *chronicle) loseConnection(place int) {
	switch all := len(c.candidates); {
	case !c.script.way.WatchesSeparately && place < all:
		c.candidates[place].hasWatcher = false
	case c.script.way.WatchesSeparately && place >= all:
		c.candidates[place-all].hasWatcher = false
	}
}
