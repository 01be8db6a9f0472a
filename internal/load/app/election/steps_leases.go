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
// which it learns that its key is the oldest until it gives up the office.
type leaseRecorder struct{ queue bool }

func (leaseRecorder) usesLeases() bool { return true }

func (t leaseRecorder) record(c *chronicle, index int, call Call, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.candidates[index]
	state := &s.candidates[index].stateAtCall
	switch call {
	case Stand:
		o.Key, o.Written = c.keyNumber(index, state.lease), c.valueIdentity(index)
		if o.Outcome == kv.Conflict {
			c.setRead(ev, ev.ModRevision, o)
		}
		c.recordCreate(index, state.lease, o)
	case Resign:
		c.recordResignation(index, o)
		o.Key, o.Expected = c.keyNumber(index, state.lease), state.ownNumber
		if o.Outcome == kv.Conflict { // the response does not contain the current key
			o.Read = history.UnknownValue
		}
		if o.Acknowledged() && state.lease == r.lease.ID {
			r.key.RecordAbsence()
		}
	case Look:
		if c.completeLook(ev, o) {
			c.recorder.Add(o)
		}
		c.recordHold(index, s.candidates[index].ownNumber, o)
		return
	default: // the end of a watcher, or the failed start of a watcher
		return
	}
	c.recorder.Add(o)
	if call == Stand && !t.queue {
		c.recordHold(index, s.candidates[index].ownNumber, o)
	}
}

// keyNumber returns the number of the key that a candidate creates with a lease.
func (c *chronicle) keyNumber(index int, lease int64) uint64 {
	if c.members == nil {
		return uint64(index / c.script.Candidates) // #nosec G115 -- a count
	}
	return c.members[lease]
}

// recordCreate records a call that created, or may have created, a key that is bound to a lease.
func (c *chronicle) recordCreate(index int, lease int64, o *history.Op) {
	r := &c.candidates[index]
	if lease != r.lease.ID {
		if o.Acknowledged() || o.Indefinite() {
			app.RecordPossibleDelete(c.recorder, o.Key, uint32(index), o.Invoked, o.Done) // #nosec G115 -- a count
		}
		return
	}
	r.key.RecordCreate(o)
}

// completeLook completes o, a read of the newest key in the queue that is older than the
// candidate's own key. It returns false if the response contains no known key.
func (c *chronicle) completeLook(ev *store.Event, o *history.Op) (ok bool) {
	if o.Outcome != kv.OK || len(ev.Key) == 0 {
		return false
	}
	if o.Key, ok = c.numberOf(ev.Key); ok {
		o.Read, o.ModRevision = c.identity(ev.Value), ev.Revision
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
func (c *chronicle) recordRenewal(index int, lease int64, ev *store.Event, o *history.Op) {
	if lease == 0 {
		c.recordGrant(index, ev, o)
		return
	}
	r := &c.candidates[index]
	lives, ended := r.lease.RecordRenewal(lease, c.script.sessionTTL, ev, o)
	if lives {
		r.key.DeleteRecorded = false
	}
	if c.recorder.Add(o); ended {
		c.recordLeaseEnd(index, o)
	}
}

// recordGrant records a candidate's new lease. If the previous lease was found to have ended, the
// key that was bound to it does not exist at the response's revision.
func (c *chronicle) recordGrant(index int, ev *store.Event, o *history.Op) {
	s, r := c.script, &c.candidates[index]
	lease := ev.Count
	if s.way.Recipe == SessionRace {
		lease, _ = app.ParseUUID(ev.Value)
	}
	if o.Outcome != kv.OK || lease == 0 || lease != s.leases[index] {
		return
	}
	r.lease.RecordPossibleEnd(c.recorder, &r.key, uint32(index), o.Done) // #nosec G115 -- a count
	r.key.EndSession()
	r.hold.Token, r.mayReleaseLate = 0, false
	if c.members != nil {
		r.key.Number = uint64(len(c.members)) // #nosec G115 -- a count
		c.members[lease] = r.key.Number
	}
	// In the store's log, the grant follows the end of the previous lease.
	if r.leaseEndFound > 0 && r.leaseEndFound <= o.Invoked && o.Revision > 0 {
		c.recorder.Add(&history.Op{
			Kind: kv.Get, Consistency: kv.Linearizable, Session: o.Session, Member: o.Member, Key: r.previousKey,
			Invoked: o.Invoked, Done: o.Done, Revision: o.Revision,
		})
	}
	r.leaseEndFound = 0
	r.lease.RecordGrant(lease, s.sessionTTL, o)
	c.recorder.Add(o)
}

// recordLeaseEnd records that a candidate's lease was found to have ended, so that its key was
// deleted. The response does not show the revision of the deletion: etcd writes the response header
// before it looks up the lease, and then waits for the revocation of a lease that has expired.
func (c *chronicle) recordLeaseEnd(index int, o *history.Op) {
	r := &c.candidates[index]
	r.lease.RecordPossibleEnd(c.recorder, &r.key, uint32(index), o.Done) // #nosec G115 -- a count
	if r.key.MayExist && c.members != nil {
		r.previousKey, r.leaseEndFound = r.key.Number, o.Done
	}
	r.key.EndSession()
	r.lease, r.hold.Token = app.Lease{}, 0
}

// recordExpiries records that some keys of an office's candidates may have been deleted: the keys
// whose leases may have ended before the time `deadline`.
func (c *chronicle) recordExpiries(office int, deadline, now int64) {
	n := c.script.Candidates
	for index := office * n; index < (office+1)*n; index++ {
		if r := &c.candidates[index]; deadline == math.MaxInt64 || r.lease.MayHaveEnded(deadline) {
			r.lease.RecordPossibleEnd(c.recorder, &r.key, uint32(index), now) // #nosec G115 -- a count
		}
	}
}

// LoadEnded implements engine.History. After this call, leases are not renewed.
func (c *chronicle) LoadEnded(now int64) {
	if c.callRecorder.usesLeases() {
		for office := range c.script.Offices {
			c.recordExpiries(office, math.MaxInt64, now)
		}
	}
}

// recordHold records that a candidate learned from the response to o that it holds its office's
// lock, with the given fencing token. If the previous holder still believed that it held the lock,
// its hold is recorded as ended just after the response.
func (c *chronicle) recordHold(index int, token int64, o *history.Op) {
	s, r := c.script, &c.candidates[index]
	over := r.replacedHolder - 1
	r.replacedHolder = 0
	if !s.isLeader(index) || r.hold.Token == token || r.mayReleaseLate || r.lease.ID == 0 {
		return
	}
	r.hold.RecordGrant(c.recorder, uint64(index/s.Candidates), uint32(index), &r.lease, token, o) // #nosec G115 -- counts
	if over != none {
		c.recordRelease(over, o.Done+1, o.Done+1)
	}
}

// recordResignation records that a candidate's hold ends just before the candidate gives up the
// office, even if the resignation fails.
func (c *chronicle) recordResignation(index int, o *history.Op) {
	c.recordRelease(index, o.Invoked, o.Done)
}

func (c *chronicle) recordRelease(index int, at, now int64) {
	r := &c.candidates[index]
	r.hold.RecordRelease(c.recorder, uint64(index/c.script.Candidates), uint32(index), &r.lease, at, now) // #nosec G115 -- counts
}
