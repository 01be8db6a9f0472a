package patroni

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recordRenewal records the response to a renewal. The response grants a new lease, confirms the
// renewal, or reports that the lease has ended. If sessions belong to connections, the renewal is a
// ping, and its response contains the session's timeout.
func (c *chronicle) recordRenewal(m int, lease int64, ev *store.Event, o *history.Op) {
	switch {
	case !c.hasLeases:
		if granted := ev.Count * int64(1e9); o.Outcome == kv.OK && granted > 0 {
			c.sessionTTL = min(c.sessionTTL, granted)
		}
		return
	case lease == 0:
		c.recordGrant(m, ev, o)
		return
	}
	r := &c.members[m]
	lives, ended := r.lease.RecordRenewal(lease, c.sessionTTL, ev, o)
	if lives {
		r.ownKey.DeleteRecorded, r.leaderKey.DeleteRecorded = false, false
	}
	if c.recorder.Add(o); ended {
		c.recordLeaseEnd(m, o.Done)
		r.lease = app.Lease{}
	}
}

// recordGrant records a member's new lease.
func (c *chronicle) recordGrant(m int, ev *store.Event, o *history.Op) {
	lease := c.script.way.grantedIn(ev)
	if o.Outcome != kv.OK || lease == 0 {
		return
	}
	c.recordLeaseEnd(m, o.Done)
	c.members[m].lease.RecordGrant(lease, c.sessionTTL, o)
	c.recorder.Add(o)
}

// recordLeaseEnd records that a member's previous lease has ended, so that its keys were deleted.
func (c *chronicle) recordLeaseEnd(m int, now int64) {
	s, r := c.script, &c.members[m]
	c.recordExpiry(m, now)
	r.ownKey.EndSession()
	r.leaderKey.EndSession()
	if cluster := m / s.Members; int(c.holders[cluster]) == m%s.Members {
		c.holders[cluster] = none
	}
	r.hold.Token = 0
}

// recordExpiry records that a member's keys may have been deleted, because its lease may have
// expired.
func (c *chronicle) recordExpiry(m int, now int64) {
	r := &c.members[m]
	r.lease.RecordPossibleEnd(c.recorder, &r.ownKey, uint32(m), now)    // #nosec G115 -- a count
	r.lease.RecordPossibleEnd(c.recorder, &r.leaderKey, uint32(m), now) // #nosec G115 -- a count
}

// recordExpiries records that some keys of a cluster's members may have been deleted: the keys
// whose leases may have expired before the time `deadline`.
func (c *chronicle) recordExpiries(cluster int, deadline, now int64) {
	if !c.hasLeases {
		return
	}
	n := c.script.Members
	for m := cluster * n; m < (cluster+1)*n; m++ {
		if deadline == math.MaxInt64 || c.members[m].lease.MayHaveEnded(deadline) {
			c.recordExpiry(m, now)
		}
	}
}

// loseConnection records the loss of the connection with the index `place`. If `expired` is set,
// the connection's session has expired.
func (c *chronicle) loseConnection(place int, expired bool) {
	s := c.script
	if s.Way != Nodes || place >= s.MemberCount() {
		return
	}
	cluster, member := s.memberAt(place)
	m := cluster*s.Members + member
	if c.recordSessionEnd(m, false, c.lastTime); expired {
		c.members[m].ownKey.EndSession()
		c.members[m].leaderKey.EndSession()
	}
}

// recordSessionEnd records that a member's nodes may have been deleted. If `closed` is set, the
// session is certain to have been alive until it was closed, so the nodes may be deleted from now
// on. Otherwise they may have been deleted at any time since they were created.
func (c *chronicle) recordSessionEnd(m int, closed bool, now int64) {
	r := &c.members[m]
	r.ownKey.RecordPossibleSessionEnd(c.recorder, uint32(m), closed, now)    // #nosec G115 -- a count
	r.leaderKey.RecordPossibleSessionEnd(c.recorder, uint32(m), closed, now) // #nosec G115 -- a count
}

// KeyMayBeDeleted implements engine.History. It does nothing, because other methods have already
// recorded the event: loseConnection has recorded the loss or replacement of a connection, and
// LoadEnded has recorded the end of the load.
func (c *chronicle) KeyMayBeDeleted(uint64, uint32, int64, int64) {}

// SessionEnded implements engine.History. The parameter `ref` identifies the call that created the
// key in the session: either a member's own key, or the leader's key of the member's cluster.
func (c *chronicle) SessionEnded(ref uint64, o *history.Op) {
	e, member := c.script.schedule.Entries[ref&(1<<memberShift-1)], int(ref>>memberShift) // #nosec G115 -- encoded by Fill
	r := &c.members[int(e.Cluster)*c.script.Members+member]
	k := &r.ownKey
	if e.Call == Race || e.Call == Lead {
		k = &r.leaderKey
	}
	k.RecordSessionEnd(c.recorder, o)
}
