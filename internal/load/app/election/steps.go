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
// sequential node consists of the office's number in the upper bits (nodeShift) and the node's own
// number in the lower bits. Sequential nodes are not known in advance, so each office is listed
// after the load (readBack).

// chronicle records the candidates' calls in the history that is verified after the load.
type chronicle struct {
	engine.HistoryBase
	script *Script
	to     *history.Recorder
	calls  callRecorder
	of     []recorded // by candidate
	left   app.LeftKeys
	last   int64 // end of the latest operation, or time of the latest event
	// Number of watchers so far. Each wait of a candidate counts as a new watcher.
	watchers uint32
	key      []byte           // reused memory
	eventOp  history.Op       // reused memory
	members  map[int64]uint64 // key numbers, by the leases in the keys' names
	lists    uint32           // number of listings of a queue so far
}

// recorded holds what has been recorded about a candidate until now.
type recorded struct {
	watcher uint32 // number of its current watcher, as recorded
	watches bool
	watched uint64 // the watcher's key

	key   app.EphemeralKey // its key, which is deleted when its session or lease ends
	lease app.Lease        // its lease
	left  uint64           // the key that was bound to its previous lease
	// When the previous lease was found to have ended; 0: this was not found, or it had no key.
	leftAt int64

	hold     app.Hold // its hold of the office's lock
	over     int      // 1 + the candidate that held the office when this one became leader; 0: none
	doubtful bool     // a release without a response may still be executed and end a later hold

	order int64  // number of its current node in a queue; 0: unknown
	seen  int64  // number of its latest node that a response to another candidate contained
	known int64  // number of its latest node that was recorded as created by a call without a response
	list  uint32 // number of the latest list that contains its own node
	// older holds earlier nodes that the candidate considered deleted when it created a new one. If
	// any of them still exist, they are deleted when the session ends.
	older []app.EphemeralKey
}

// callRecorder records a recipe's calls.
type callRecorder interface {
	// record records a candidate's call. It completes o, in which only the fields that depend on
	// the recipe are missing.
	record(c *chronicle, of int, call Call, ev *store.Event, o *history.Op)
	// usesLeases reports whether the recipe's keys are bound to leases. Otherwise they are bound to
	// the sessions of connections.
	usesLeases() bool
}

var _ app.Steps = (*chronicle)(nil)

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	ref, lease, ev, o := done.Ref, done.Expected, done.Event, done.Op
	of, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- encoded by Fill
	c.left.Sent(o.Invoked)
	c.last, o.At = o.Done, max(ev.At, 0)
	if o.Outcome == kv.WrongAnswer && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // the response is right; only the second leader that it implies is wrong
	}
	if c.script.over != none {
		c.of[of].over, c.script.over = c.script.over+1, none
	}
	if c.calls.usesLeases() {
		c.recordExpiries(of/c.script.Candidates, o.Done, o.Done)
	}
	if call == Renew || call == planRenew {
		if c.calls.usesLeases() {
			c.recordRenewal(of, lease, ev, o)
		} else {
			c.recordReached(of, o)
		}
		return
	}
	if call == Await && o.Kind == kv.Watch {
		asks := &c.script.candidates[of].asks
		key, ok := c.of[of].key.Number, true
		if c.members != nil {
			key, ok = c.members[asks.before]
		}
		if ok {
			c.beginWatcher(of, key, asks.from, ev, o)
		}
		return
	}
	c.calls.record(c, of, call, ev, o)
}

// foreign is the identity of any value that no candidate in this run wrote.
const foreign = 1

// identity returns a number that identifies the write of the given value. The number contains the
// candidate. If each name identifies its write, it also contains the number of the write.
func (c *chronicle) identity(value []byte) uint64 {
	s := c.script
	of, run, ok := ParseCandidate(value)
	if !ok || of >= s.CandidateCount() {
		return foreign
	}
	which := run - s.run
	switch {
	case s.way.Recipe != SessionRace && which != 0, s.way.Recipe == SessionRace && which == 0:
		return foreign
	case s.way.Recipe != SessionRace:
		which = 1
	}
	return uint64(which)<<candidateBits | uint64(of) // #nosec G115 -- a count
}

// valueOf returns the identity of the value that is written by a candidate's call.
func (c *chronicle) valueOf(of int) uint64 {
	which := uint32(1)
	if c.script.way.Recipe == SessionRace {
		which = c.script.candidates[of].asks.wrote
	}
	return uint64(which)<<candidateBits | uint64(of) // #nosec G115 -- a count
}

// setRead completes o, a read or a refused call, with the key's value in the response. The
// parameter `mod` is the value's revision, or 0 if the key does not exist.
func (c *chronicle) setRead(ev *store.Event, mod int64, o *history.Op) {
	if o.Read = history.Absent; mod <= 0 {
		return
	}
	if o.Read, o.Mod = c.identity(ev.Value), mod; o.Read == foreign && c.script.leases == nil {
		c.left.MayEnd(c.to, o.Key, o.Done)
	}
}

// beginWatcher records that a candidate waits for changes of a key. Each wait is recorded as a new
// watcher for one key. The watcher starts at revision `from`, or after the response if `from` is 0.
// A one-shot watch reports a single change.
func (c *chronicle) beginWatcher(of int, key uint64, from int64, ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	r := &c.of[of]
	r.watcher, r.watches, r.watched = c.watchers, true, key
	c.watchers++
	c.to.Add(&history.Op{
		Kind: kv.Watch, Watch: history.Began, Session: r.watcher, Member: o.Member, Key: key, Written: 1, Mod: from, Joined: !c.calls.usesLeases(),
		Invoked: o.Invoked, Done: o.Done, At: max(ev.At, 0),
	})
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	if int(watcher) >= len(c.of) || !c.of[watcher].watches {
		return
	}
	r := &c.of[watcher]
	c.last = now
	t := watch.RecordedWatcher{Watcher: watch.Watcher{First: r.watched, Keys: 1}, Number: r.watcher}
	o, ok := &c.eventOp, false
	if *o, ok = t.EventOp(ev, asked, from, now); !ok {
		return
	}
	if ev.What == store.Ended {
		r.watches = false
		c.to.Add(o)
		return
	}
	if o.Watch != history.Happened || !c.completeEvent(r, ev, o) {
		return
	}
	if c.calls.usesLeases() {
		c.recordExpiries(int(watcher)/c.script.Candidates, now, now)
	}
	c.to.Add(o)
}

// completeEvent completes o, a watch event. It returns false if the event cannot be verified.
func (c *chronicle) completeEvent(r *recorded, ev *store.Event, o *history.Op) bool {
	s := c.script
	switch s.way.Recipe {
	case EphemeralRace, EphemeralQueue:
		// The watch reports only one event, and old servers do not report its revision.
		if r.watches = false; ev.Revision <= 0 {
			return false
		}
	case SessionRace:
		if len(ev.Before) == 0 { // the end of a session keeps the value, but changes its revision
			return false
		}
	}
	if s.leases != nil && !c.hasNumber(r.watched, ev.Key) {
		o.Outcome = kv.WrongAnswer
		return true
	}
	switch {
	case ev.Version > 0:
		o.Read = c.identity(ev.Value)
	case ev.Version < 0:
		o.Read = history.Unseen
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
	switch all := len(c.of); {
	case !c.script.way.Watches && place < all:
		c.of[place].watches = false
	case c.script.way.Watches && place >= all:
		c.of[place-all].watches = false
	}
}
