package election

import (
	"bytes"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// tellLeases records elections by keys that end with leases: a key is made by a
// compare-and-set that is to find nothing, and removed by a delete that compares. Whose key
// is the oldest has the lock of the office, from when he knows it until he gives it up.
type tellLeases struct{ queue bool }

func (tellLeases) lives() bool { return true }

func (t tellLeases) ended(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.of[of]
	asks := &s.candidates[of].asks
	switch call {
	case Stand:
		o.Key, o.Written = c.keyOf(of, asks.lease), c.writes(of)
		if o.Outcome == kv.Conflict {
			c.shown(ev, ev.Mod, o)
		}
		c.stood(of, asks.lease, o)
	case Resign:
		c.released(of, o)
		o.Key, o.Expected = c.keyOf(of, asks.lease), asks.own
		if o.Outcome == kv.Conflict { // what stands there was not asked for
			o.Read = history.Unseen
		}
		if o.Acknowledged() && asks.lease == r.lease.ID {
			r.key.Absent()
		}
	case Look:
		if c.before(ev, o) {
			c.to.Add(o)
		}
		c.leads(of, s.candidates[of].own, o)
		return
	default: // a watcher's beginning that failed, and its end
		return
	}
	c.to.Add(o)
	if call == Stand && !t.queue {
		c.leads(of, s.candidates[of].own, o)
	}
}

// keyOf is the number of the key that a candidate makes with a lease.
func (c *chronicle) keyOf(of int, lease int64) uint64 {
	if c.members == nil {
		return uint64(of / c.script.Candidates) // #nosec G115 -- a count
	}
	return c.members[lease]
}

// stood notes that a call made a key, or may have made it, with a lease.
func (c *chronicle) stood(of int, lease int64, o *history.Op) {
	r := &c.of[of]
	if lease != r.lease.ID {
		if o.Acknowledged() || o.Indefinite() {
			app.RecordGone(c.to, o.Key, uint32(of), o.Invoked, o.Done) // #nosec G115 -- a count
		}
		return
	}
	r.key.MayBeMade(o)
}

// before is the answer to who is before a candidate in its queue: the youngest key that is
// older than its own. ok is false where it tells of no key.
func (c *chronicle) before(ev *store.Event, o *history.Op) (ok bool) {
	if o.Outcome != kv.OK || len(ev.Key) == 0 {
		return false
	}
	if o.Key, ok = c.member(ev.Key); ok {
		o.Read, o.Mod = c.identity(ev.Value), ev.Revision
	}
	return ok
}

// member is the number of a key that is called by a lease.
func (c *chronicle) member(key []byte) (number uint64, ok bool) {
	lease, ok := leaseIn(key[bytes.LastIndexByte(key, '/')+1:])
	if !ok {
		return 0, false
	}
	number, ok = c.members[lease]
	return number, ok
}

// renewed records the grant of a lease, or that it was kept alive, or found gone.
func (c *chronicle) renewed(of int, lease int64, ev *store.Event, o *history.Op) {
	if lease == 0 {
		c.granted(of, ev, o)
		return
	}
	r := &c.of[of]
	lives, gone := r.lease.Renewed(lease, c.script.life, ev, o)
	if lives {
		r.key.Ended = false
	}
	if c.to.Add(o); gone {
		c.leaseOver(of, o)
	}
}

// granted records a new lease, which the candidate has from now on. A key that is called by
// the one before, which was found gone, is not there any more at the answer's revision.
func (c *chronicle) granted(of int, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.of[of]
	lease := ev.Count
	if s.way.Recipe == SessionRace {
		lease, _ = halves(ev.Value)
	}
	if o.Outcome != kv.OK || lease == 0 || lease != s.leases[of] {
		return
	}
	r.lease.MayEnd(c.to, &r.key, uint32(of), o.Done) // #nosec G115 -- a count
	r.key.Over()
	r.hold.Token, r.doubtful = 0, false
	if c.members != nil {
		r.key.Number = uint64(len(c.members)) // #nosec G115 -- a count
		c.members[lease] = r.key.Number
	}
	if r.leftAt > 0 && r.leftAt <= o.Invoked && o.At > 0 { // behind the lease's end in the store's log
		c.to.Add(&history.Op{
			Kind: kv.Get, Consistency: kv.Linearizable, Session: o.Session, Member: o.Member, Key: r.left,
			Invoked: o.Invoked, Done: o.Done, At: o.At,
		})
	}
	r.leftAt = 0
	r.lease.Granted(lease, s.life, o)
	c.to.Add(o)
}

// leaseOver records that a candidate's lease was found gone, and its key with it. At which
// revision is not told: etcd writes the header before it looks for the lease, and waits
// for the end of one that has expired.
func (c *chronicle) leaseOver(of int, o *history.Op) {
	r := &c.of[of]
	r.lease.MayEnd(c.to, &r.key, uint32(of), o.Done) // #nosec G115 -- a count
	if r.key.There && c.members != nil {
		r.left, r.leftAt = r.key.Number, o.Done
	}
	r.key.Over()
	r.lease, r.hold.Token = app.Lease{}, 0
}

// mayHaveEnded records of an office's candidates whose leases may have ended by a time that
// their keys may be gone since then.
func (c *chronicle) mayHaveEnded(office int, by, now int64) {
	n := c.script.Candidates
	for of := office * n; of < (office+1)*n; of++ {
		if r := &c.of[of]; by == math.MaxInt64 || r.lease.MayHaveEnded(by) {
			r.lease.MayEnd(c.to, &r.key, uint32(of), now) // #nosec G115 -- a count
		}
	}
}

// Closed implements engine.History: nothing keeps a lease alive any more.
func (c *chronicle) Closed(now int64) {
	if c.tell.lives() {
		for office := range c.script.Offices {
			c.mayHaveEnded(office, math.MaxInt64, now)
		}
	}
}

// leads records that a candidate knows, by the answer that it was given, that it has the
// lock of its office, with a fencing token; and that who had it until then took it for its
// own beyond that, if nothing had told it otherwise.
func (c *chronicle) leads(of int, token int64, o *history.Op) {
	s, r := c.script, &c.of[of]
	over := r.over - 1
	r.over = 0
	if !s.leader(of) || r.hold.Token == token || r.doubtful || r.lease.ID == 0 {
		return
	}
	r.hold.Granted(c.to, uint64(of/s.Candidates), uint32(of), &r.lease, token, o) // #nosec G115 -- counts
	if over != nobody {
		c.freed(over, o.Done+1, o.Done+1)
	}
}

// released records until when a candidate took an office for its own: until it was about to
// give it up, whatever came of that.
func (c *chronicle) released(of int, o *history.Op) { c.freed(of, o.Invoked, o.Done) }

func (c *chronicle) freed(of int, at, now int64) {
	r := &c.of[of]
	r.hold.Released(c.to, uint64(of/c.script.Candidates), uint32(of), &r.lease, at, now) // #nosec G115 -- counts
}
