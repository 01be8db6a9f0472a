package election

import (
	"bytes"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// leaseRecorder records elections with keys that are bound to leases. The call that creates a key
// is a compare-and-set that requires that the key does not exist. The call that deletes a key is a
// conditional delete. The candidate with the oldest key holds the office's lock from the time at
// which it learns this until it gives up the office.
type leaseRecorder struct{ queue bool }

func (leaseRecorder) usesLeases() bool { return true }

func (t leaseRecorder) record(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.of[of]
	asks := &s.candidates[of].asks
	switch call {
	case Stand:
		o.Key, o.Written = c.keyOf(of, asks.lease), c.valueOf(of)
		if o.Outcome == kv.Conflict {
			c.setRead(ev, ev.Mod, o)
		}
		c.noteStand(of, asks.lease, o)
	case Resign:
		c.recordResignation(of, o)
		o.Key, o.Expected = c.keyOf(of, asks.lease), asks.own
		if o.Outcome == kv.Conflict { // the response does not contain the current key
			o.Read = history.Unseen
		}
		if o.Acknowledged() && asks.lease == r.lease.ID {
			r.key.Absent()
		}
	case Look:
		if c.completeLook(ev, o) {
			c.to.Add(o)
		}
		c.recordHold(of, s.candidates[of].own, o)
		return
	default: // the end of a watcher, or the failed start of a watcher
		return
	}
	c.to.Add(o)
	if call == Stand && !t.queue {
		c.recordHold(of, s.candidates[of].own, o)
	}
}

// keyOf returns the number of the key that a candidate creates with a lease.
func (c *chronicle) keyOf(of int, lease int64) uint64 {
	if c.members == nil {
		return uint64(of / c.script.Candidates) // #nosec G115 -- a count
	}
	return c.members[lease]
}

// noteStand records a call that created, or may have created, a key that is bound to a lease.
func (c *chronicle) noteStand(of int, lease int64, o *history.Op) {
	r := &c.of[of]
	if lease != r.lease.ID {
		if o.Acknowledged() || o.Indefinite() {
			app.RecordPossibleDelete(c.to, o.Key, uint32(of), o.Invoked, o.Done) // #nosec G115 -- a count
		}
		return
	}
	r.key.MayBeMade(o)
}

// completeLook completes o, a read of the newest key in the queue that is older than the
// candidate's own key. It returns false if the response contains no known key.
func (c *chronicle) completeLook(ev *store.Event, o *history.Op) (ok bool) {
	if o.Outcome != kv.OK || len(ev.Key) == 0 {
		return false
	}
	if o.Key, ok = c.numberOf(ev.Key); ok {
		o.Read, o.Mod = c.identity(ev.Value), ev.Revision
	}
	return ok
}

// numberOf returns the number of a key that is named after a lease.
func (c *chronicle) numberOf(key []byte) (number uint64, ok bool) {
	lease, ok := parseLease(key[bytes.LastIndexByte(key, '/')+1:])
	if !ok {
		return 0, false
	}
	number, ok = c.members[lease]
	return number, ok
}

// recordRenewal records the response to a renewal. The response grants a new lease, confirms the
// renewal, or reports that the lease has ended.
func (c *chronicle) recordRenewal(of int, lease int64, ev *store.Event, o *history.Op) {
	if lease == 0 {
		c.recordGrant(of, ev, o)
		return
	}
	r := &c.of[of]
	lives, gone := r.lease.Renewed(lease, c.script.life, ev, o)
	if lives {
		r.key.Ended = false
	}
	if c.to.Add(o); gone {
		c.recordLeaseEnd(of, o)
	}
}

// recordGrant records a candidate's new lease. If the previous lease was found to have ended, the
// key that was bound to it does not exist at the response's revision.
func (c *chronicle) recordGrant(of int, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.of[of]
	lease := ev.Count
	if s.way.Recipe == SessionRace {
		lease, _ = splitSession(ev.Value)
	}
	if o.Outcome != kv.OK || lease == 0 || lease != s.leases[of] {
		return
	}
	r.lease.MayEnd(c.to, &r.key, uint32(of), o.Done) // #nosec G115 -- a count
	r.key.SessionGone()
	r.hold.Token, r.doubtful = 0, false
	if c.members != nil {
		r.key.Number = uint64(len(c.members)) // #nosec G115 -- a count
		c.members[lease] = r.key.Number
	}
	// In the store's log, the grant follows the end of the previous lease.
	if r.leftAt > 0 && r.leftAt <= o.Invoked && o.At > 0 {
		c.to.Add(&history.Op{
			Kind: kv.Get, Consistency: kv.Linearizable, Session: o.Session, Member: o.Member, Key: r.left,
			Invoked: o.Invoked, Done: o.Done, At: o.At,
		})
	}
	r.leftAt = 0
	r.lease.Granted(lease, s.life, o)
	c.to.Add(o)
}

// recordLeaseEnd records that a candidate's lease was found to have ended, so that its key was
// deleted. The response does not show the revision of the deletion: etcd writes the response header
// before it looks up the lease, and then waits for the revocation of a lease that has expired.
func (c *chronicle) recordLeaseEnd(of int, o *history.Op) {
	r := &c.of[of]
	r.lease.MayEnd(c.to, &r.key, uint32(of), o.Done) // #nosec G115 -- a count
	if r.key.There && c.members != nil {
		r.left, r.leftAt = r.key.Number, o.Done
	}
	r.key.SessionGone()
	r.lease, r.hold.Token = app.Lease{}, 0
}

// recordExpiries records that some keys of an office's candidates may have been deleted: the keys
// whose leases may have ended before the time `by`.
func (c *chronicle) recordExpiries(office int, by, now int64) {
	n := c.script.Candidates
	for of := office * n; of < (office+1)*n; of++ {
		if r := &c.of[of]; by == math.MaxInt64 || r.lease.MayHaveEnded(by) {
			r.lease.MayEnd(c.to, &r.key, uint32(of), now) // #nosec G115 -- a count
		}
	}
}

// Closed implements engine.History. After this call, leases are not renewed.
func (c *chronicle) Closed(now int64) {
	if c.calls.usesLeases() {
		for office := range c.script.Offices {
			c.recordExpiries(office, math.MaxInt64, now)
		}
	}
}

// recordHold records that a candidate learned from the response to o that it holds its office's
// lock, with the given fencing token. If the previous holder still believed that it held the lock,
// its hold is recorded as ended just after the response.
func (c *chronicle) recordHold(of int, token int64, o *history.Op) {
	s, r := c.script, &c.of[of]
	over := r.over - 1
	r.over = 0
	if !s.isLeader(of) || r.hold.Token == token || r.doubtful || r.lease.ID == 0 {
		return
	}
	r.hold.Granted(c.to, uint64(of/s.Candidates), uint32(of), &r.lease, token, o) // #nosec G115 -- counts
	if over != none {
		c.recordRelease(over, o.Done+1, o.Done+1)
	}
}

// recordResignation records that a candidate's hold ends just before the candidate gives up the
// office, even if the resignation fails.
func (c *chronicle) recordResignation(of int, o *history.Op) { c.recordRelease(of, o.Invoked, o.Done) }

func (c *chronicle) recordRelease(of int, at, now int64) {
	r := &c.of[of]
	r.hold.Released(c.to, uint64(of/c.script.Candidates), uint32(of), &r.lease, at, now) // #nosec G115 -- counts
}
