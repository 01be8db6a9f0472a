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

// Keys have these numbers. A key of an office has the office's number. A key that is named after a
// candidate's first lease has the candidate's number; keys named after later leases follow in the
// order of the leases. A sequential node has its office's number in the upper bits (nodeShift) and
// its own in the lower ones; these are not known in advance, so after the load each office is
// listed (readBack).

// chronicle records the candidates' calls in the history, for verification.
type chronicle struct {
	engine.HistoryBase
	script   *Script
	to       *history.Recorder
	calls    callRecorder
	of       []recorded // by candidate
	left     app.LeftKeys
	last     int64            // end of the latest operation or event
	watchers uint32           // number of watchers so far; each wait of a candidate is a new one
	key      []byte           // memory
	eventOp  history.Op       // memory
	members  map[int64]uint64 // numbers of keys by the leases in their names
	lists    uint32           // number of lists of a queue so far
}

// recorded holds what is recorded of a candidate so far.
type recorded struct {
	watcher uint32 // the number of its watcher
	watches bool
	watched uint64 // the watcher's key

	key    app.EphemeralKey // its key, which ends with its session or lease
	lease  app.Lease        // its lease
	left   uint64           // the key of its previous lease
	leftAt int64            // when that key's lease was found gone; 0: it was not, or the key did not exist

	hold     app.Hold // its hold of the office
	over     int      // the candidate, plus one, that held the office when it became leader; 0: none
	doubtful bool     // a release without a response may still be executed, and end a later hold

	order int64  // the number of its present node in a queue; 0: none is known
	seen  int64  // the number of its latest node in another candidate's response
	known int64  // the number of its latest node that is recorded as created by a call without a response
	list  uint32 // the latest list that contains its own node
	// older holds earlier nodes that it assumed to be gone when it created another. Any that still
	// exist end with the session.
	older []app.EphemeralKey
}

// callRecorder records a recipe's calls.
type callRecorder interface {
	// record records a candidate's call. o is complete except for what depends on the recipe.
	record(c *chronicle, of int, call Call, ev *store.Event, o *history.Op)
	// usesLeases reports whether the recipe's keys end with leases, not with connections' sessions.
	usesLeases() bool
}

var _ app.Steps = (*chronicle)(nil)

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	ref, lease, ev, o := done.Ref, done.Expected, done.Event, done.Op
	of, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- as Fill made it
	c.left.Sent(o.Invoked)
	c.last, o.At = o.Done, max(ev.At, 0)
	if o.Outcome == kv.WrongAnswer && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // the response is right; the leader that it implies is wrong
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

// foreign is the identity of values that no candidate of this run writes.
const foreign = 1

// identity returns the identity of a value's write: its candidate and, if each name identifies its
// write, the write's number.
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

// valueOf returns the identity of the value that a candidate's call writes.
func (c *chronicle) valueOf(of int) uint64 {
	which := uint32(1)
	if c.script.way.Recipe == SessionRace {
		which = c.script.candidates[of].asks.wrote
	}
	return uint64(which)<<candidateBits | uint64(of) // #nosec G115 -- a count
}

// setRead completes o, a read or a refused call, with the key's value in the response; mod is the
// value's revision, and 0 if the key does not exist.
func (c *chronicle) setRead(ev *store.Event, mod int64, o *history.Op) {
	if o.Read = history.Absent; mod <= 0 {
		return
	}
	if o.Read, o.Mod = c.identity(ev.Value), mod; o.Read == foreign && c.script.leases == nil {
		c.left.MayEnd(c.to, o.Key, o.Done)
	}
}

// beginWatcher records that a candidate waits for a key. Each wait is a new watcher of one key,
// which starts at revision from; 0: it reports what is written after the response. A one-shot watch
// reports a single change.
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
		if r.watches = false; ev.Revision <= 0 { // it fires once, and an old server does not report the revision
			return false
		}
	case SessionRace:
		if len(ev.Before) == 0 { // the end of a session keeps the value and changes its revision
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

// hasNumber reports whether the key with a number is key.
func (c *chronicle) hasNumber(number uint64, key []byte) bool {
	s := c.script
	if s.way.Recipe == LeaseQueue {
		got, ok := c.numberOf(key)
		return ok && got == number
	}
	c.key = s.AppendKey(c.key[:0], number)
	return bytes.Equal(c.key, key)
}

// loseConnection notes that the watcher on a lost connection is gone.
func (c *chronicle) loseConnection(place int) {
	switch all := len(c.of); {
	case !c.script.way.Watches && place < all:
		c.of[place].watches = false
	case c.script.way.Watches && place >= all:
		c.of[place-all].watches = false
	}
}
