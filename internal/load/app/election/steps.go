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

// The numbers of keys are those of the offices where each has one, and where candidates have
// keys that are called by their leases those of the candidates; behind them come the keys of
// leases that were taken later. A node that the store numbers has its office's number, and
// its own in the lower bits: which there are nobody knows before, so that after the load
// each office is listed (readBack).

// chronicle records what the candidates' calls were, for who checks the answers.
type chronicle struct {
	engine.HistoryBase
	script   *Script
	to       *history.Recorder
	tell     teller
	of       []recorded // by candidate
	left     app.LeftKeys
	last     int64            // when the last ended
	watchers uint32           // that have begun: each time that a candidate waits is one
	key      []byte           // memory
	told     history.Op       // likewise
	members  map[int64]uint64 // the numbers of keys that are called by leases
	lists    uint32           // of the queue, that were taken
}

// recorded is what is recorded of a candidate so far.
type recorded struct {
	watcher uint32 // the number of the one that it has
	watches bool
	watched uint64 // its key

	key    app.EphemeralKey // that ends with its session or lease
	lease  app.Lease        // that it has
	left   uint64           // the key of the one before
	leftAt int64            // when that was found gone; 0: it was not, or the key was not there

	hold     app.Hold // of the office that it took for its own
	over     int      // who took the office for its own when it was told that it has it, and one more; 0: nobody
	doubtful bool     // what it sent to give a lock back may still come, and end a later hold

	order int64  // of the nodes that the store numbers: its own, in a queue; 0: none is known
	seen  int64  // the last that another was told of
	known int64  // the last that was recorded of those whose making was not answered
	list  uint32 // the last that had its own
	// older are nodes that it took for gone, and made another. If one is there it ends with
	// the session.
	older []app.EphemeralKey
}

// teller is how a recipe's calls are recorded.
type teller interface {
	// ended records a candidate's call that has ended; its operation is only lacking what
	// the recipe knows.
	ended(c *chronicle, of int, call Call, ev *store.Event, o *history.Op)
	// lives reports whether its keys end with leases, and no connection's session.
	lives() bool
}

var _ app.Steps = (*chronicle)(nil)

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	ref, lease, ev, o := done.Ref, done.Expected, done.Event, done.Op
	of, call := int(ref&(1<<candidateBits-1)), Call(ref>>candidateBits) // #nosec G115 -- as Fill made it
	c.left.Sent(o.Invoked)
	c.last, o.At = o.Done, max(ev.At, 0)
	if o.Outcome == kv.WrongAnswer && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // what was wrong is not the answer, but who leads by it
	}
	if c.script.over != nobody {
		c.of[of].over, c.script.over = c.script.over+1, nobody
	}
	if c.tell.lives() {
		c.mayHaveEnded(of/c.script.Candidates, o.Done, o.Done)
	}
	if call == Renew || call == planRenew {
		if c.tell.lives() {
			c.renewed(of, lease, ev, o)
		} else {
			c.reached(of, o)
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
			c.begins(of, key, asks.from, ev, o)
		}
		return
	}
	c.tell.ended(c, of, call, ev, o)
}

// nobodys is the identity of a value that no candidate of this run writes.
const nobodys = 1

// identity is which write a value is of: whose and, where the value says it, which of all.
func (c *chronicle) identity(value []byte) uint64 {
	s := c.script
	of, run, ok := Candidate(value)
	if !ok || of >= s.All() {
		return nobodys
	}
	which := run - s.run
	switch {
	case s.way.Recipe != SessionRace && which != 0, s.way.Recipe == SessionRace && which == 0:
		return nobodys
	case s.way.Recipe != SessionRace:
		which = 1
	}
	return uint64(which)<<candidateBits | uint64(of) // #nosec G115 -- a count
}

// writes is the identity of what a candidate's call writes.
func (c *chronicle) writes(of int) uint64 {
	which := uint32(1)
	if c.script.way.Recipe == SessionRace {
		which = c.script.candidates[of].asks.wrote
	}
	return uint64(which)<<candidateBits | uint64(of) // #nosec G115 -- a count
}

// shown is what a read's answer, or that of a call that was refused, says of a key.
func (c *chronicle) shown(ev *store.Event, mod int64, o *history.Op) {
	if o.Read = history.Absent; mod <= 0 {
		return
	}
	if o.Read, o.Mod = c.identity(ev.Value), mod; o.Read == nobodys && c.script.leases == nil {
		c.left.MayEnd(c.to, o.Key, o.Done)
	}
}

// begins records that a candidate waits: each time is a watcher of its own, of one key,
// and from a revision on; 0: from what is written behind the answer. One that is told once
// is not told of what comes behind that.
func (c *chronicle) begins(of int, key uint64, from int64, ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	r := &c.of[of]
	r.watcher, r.watches, r.watched = c.watchers, true, key
	c.watchers++
	c.to.Add(&history.Op{
		Kind: kv.Watch, Watch: history.Began, Session: r.watcher, Member: o.Member, Key: key, Written: 1, Mod: from, Joined: !c.tell.lives(),
		Invoked: o.Invoked, Done: o.Done, At: max(ev.At, 0),
	})
}

// Told implements engine.History.
func (c *chronicle) Told(watcher uint32, ev *store.Event, asked, from, now int64) {
	if int(watcher) >= len(c.of) || !c.of[watcher].watches {
		return
	}
	r := &c.of[watcher]
	c.last = now
	t := watch.Telling{Watcher: watch.Watcher{First: r.watched, Keys: 1}, Number: r.watcher}
	o, ok := &c.told, false
	if *o, ok = t.Told(ev, asked, from, now); !ok {
		return
	}
	if ev.What == store.Ended {
		r.watches = false
		c.to.Add(o)
		return
	}
	if o.Watch != history.Happened || !c.happened(r, ev, o) {
		return
	}
	if c.tell.lives() {
		c.mayHaveEnded(int(watcher)/c.script.Candidates, now, now)
	}
	c.to.Add(o)
}

// happened is what an event tells; false of one that tells nothing that can be judged.
func (c *chronicle) happened(r *recorded, ev *store.Event, o *history.Op) bool {
	s := c.script
	switch s.way.Recipe {
	case EphemeralRace, EphemeralQueue:
		if r.watches = false; ev.Revision <= 0 { // it fires once, and an old server does not say when that was
			return false
		}
	case SessionRace:
		if len(ev.Before) == 0 { // a session's end leaves the value, and changes its revision
			return false
		}
	}
	if s.leases != nil && !c.names(r.watched, ev.Key) {
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

// names reports whether a key has the number.
func (c *chronicle) names(number uint64, key []byte) bool {
	s := c.script
	if s.way.Recipe == LeaseQueue {
		got, ok := c.member(key)
		return ok && got == number
	}
	c.key = s.AppendKey(c.key[:0], number)
	return bytes.Equal(c.key, key)
}

// lost takes that a candidate's connection is gone, and what watched on it.
func (c *chronicle) lost(place int) {
	switch all := len(c.of); {
	case !c.script.way.Watches && place < all:
		c.of[place].watches = false
	case c.script.way.Watches && place >= all:
		c.of[place-all].watches = false
	}
}
