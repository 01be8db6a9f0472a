package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// tellNode records the race for a node of one name: to make it is a compare-and-set that is
// to find nothing. Who waits is told of the next change and of no other, so that each time
// is a watcher that begins with the present.
type tellNode struct{}

func (tellNode) lives() bool { return false }

func (tellNode) ended(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	r := &c.of[of]
	o.Key = r.key.Number
	switch call {
	case Stand:
		if o.Kind, o.Written = kv.CAS, c.writes(of); o.Outcome == kv.Conflict {
			o.Read = history.Unseen // what stands there was not asked for
		}
		r.key.MayBeMade(o)
	case Resign:
		if !c.script.candidates[of].asks.leads {
			c.looked(ev, o)
			break
		}
		c.removed(of, o)
	case Await:
		c.looked(ev, o)
	}
	c.to.Add(o)
	c.reached(of, o)
	if call == Await {
		c.begins(of, r.key.Number, 0, ev, o)
	}
}

// looked is a read of a node from its member.
func (c *chronicle) looked(ev *store.Event, o *history.Op) {
	if o.Kind, o.Consistency = kv.Get, kv.Local; o.Outcome == kv.OK {
		c.shown(ev, ev.Made(), o)
	}
}

// removed is the removal of a candidate's own node. One that is not there is answered as a
// guard that did not hold.
func (c *chronicle) removed(of int, o *history.Op) {
	r := &c.of[of]
	if o.Kind = kv.Delete; o.Outcome == kv.Conflict {
		o.Outcome = kv.Miss
	}
	if o.Answered() {
		r.key.Absent()
	}
}

// reached records what an answer says of a watch on the same session: what happened before
// the answer's transaction has been told, and what that did itself if it was a read's.
func (c *chronicle) reached(of int, o *history.Op) {
	r, upTo := &c.of[of], o.At
	if o.Kind.Writes() {
		upTo--
	}
	if r.watches && o.Answered() && upTo > 0 {
		c.to.Add(&history.Op{Kind: kv.Watch, Watch: history.Reached, Session: r.watcher, Member: o.Member, Key: r.watched, Mod: upTo, Invoked: o.Done, Done: o.Done})
	}
}

// MayEnd implements engine.History. What is closed is gone from then on, unless it
// cannot be known that the session had lived until then.
func (c *chronicle) MayEnd(ref uint64, _ uint32, from, now int64) {
	of := int(ref & (1<<candidateBits - 1)) // #nosec G115 -- as Fill made it
	closed := from == now && !c.script.candidates[of].dead && c.script.sure(of)
	c.ends(of, now, closed)
}

// SessionEnded implements engine.History. Of nodes that were removed before nothing
// is to be said.
func (c *chronicle) SessionEnded(ref uint64, o *history.Op) {
	r := &c.of[int(ref&(1<<candidateBits-1))] // #nosec G115 -- as Fill made it
	for i := range r.older {
		r.older[i].SessionEnded(c.to, o)
	}
	r.key.SessionEnded(c.to, o)
}

// ends records that the nodes of a candidate's session may be gone, once of each: since it
// was made, or of one that is closed from now on.
func (c *chronicle) ends(of int, now int64, closed bool) {
	r := &c.of[of]
	for i := range r.older {
		r.older[i].SessionMayEnd(c.to, uint32(of), closed, now) // #nosec G115 -- a count
	}
	r.key.SessionMayEnd(c.to, uint32(of), closed, now) // #nosec G115 -- a count
}

// expired takes that a candidate's session has ended, before the present one began.
func (c *chronicle) expired(of int) {
	c.ends(of, c.last, false)
	r := &c.of[of]
	r.key.There, r.order, r.older = false, 0, r.older[:0]
	if c.script.way.Recipe != EphemeralQueue { // where it says since when nodes may be there that nobody has told of
		r.key.Unsure = 0
	}
}
