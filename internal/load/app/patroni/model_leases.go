package patroni

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recordRenewal records the grant of a lease, or a renewal that succeeded or found the lease gone.
// The response to a ping contains the session's timeout.
func (c *chronicle) recordRenewal(m int, lease int64, ev *store.Event, o *history.Op) {
	switch {
	case !c.leased:
		if granted := ev.Count * int64(1e9); o.Outcome == kv.OK && granted > 0 {
			c.life = min(c.life, granted)
		}
		return
	case lease == 0:
		c.recordGrant(m, ev, o)
		return
	}
	r := &c.of[m]
	lives, gone := r.lease.Renewed(lease, c.life, ev, o)
	if lives {
		r.own.Ended, r.leads.Ended = false, false
	}
	if c.to.Add(o); gone {
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
	c.of[m].lease.Granted(lease, c.life, o)
	c.to.Add(o)
}

// recordLeaseEnd records that a member's keys are gone, or may be gone, with its previous lease.
func (c *chronicle) recordLeaseEnd(m int, now int64) {
	s, r := c.script, &c.of[m]
	c.recordExpiry(m, now)
	r.own.SessionGone()
	r.leads.SessionGone()
	if cluster := m / s.Members; int(c.holders[cluster]) == m%s.Members {
		c.holders[cluster] = none
	}
	r.hold.Token = 0
}

// recordExpiry records that a member's keys may be gone, because its lease may have expired.
func (c *chronicle) recordExpiry(m int, now int64) {
	r := &c.of[m]
	r.lease.MayEnd(c.to, &r.own, uint32(m), now)   // #nosec G115 -- a count
	r.lease.MayEnd(c.to, &r.leads, uint32(m), now) // #nosec G115 -- a count
}

// recordExpiries records for a cluster's members whose leases may have expired by a time that their
// keys may be gone.
func (c *chronicle) recordExpiries(cluster int, by, now int64) {
	if !c.leased {
		return
	}
	n := c.script.Members
	for m := cluster * n; m < (cluster+1)*n; m++ {
		if by == math.MaxInt64 || c.of[m].lease.MayHaveEnded(by) {
			c.recordExpiry(m, now)
		}
	}
}

// loseConnection notes that the connection of a place is lost, or that its session has ended.
func (c *chronicle) loseConnection(place int, expired bool) {
	s := c.script
	if s.Way != Nodes || place >= s.MemberCount() {
		return
	}
	cluster, member := s.memberAt(place)
	m := cluster*s.Members + member
	if c.recordSessionEnd(m, false, c.last); expired {
		c.of[m].own.SessionGone()
		c.of[m].leads.SessionGone()
	}
}

// recordSessionEnd records that a member's nodes may be gone: since their creation, or as of now if
// the session was closed and is sure to have lived until now.
func (c *chronicle) recordSessionEnd(m int, sure bool, now int64) {
	r := &c.of[m]
	r.own.SessionMayEnd(c.to, uint32(m), sure, now)   // #nosec G115 -- a count
	r.leads.SessionMayEnd(c.to, uint32(m), sure, now) // #nosec G115 -- a count
}

// MayEnd implements engine.History. A lost or replaced connection (loseConnection) and the end of
// the load (Closed) have recorded it already.
func (c *chronicle) MayEnd(uint64, uint32, int64, int64) {}

// SessionEnded implements engine.History. The session is the one in which a call created a member's
// key, or its cluster's leader's key.
func (c *chronicle) SessionEnded(ref uint64, o *history.Op) {
	e, member := c.script.schedule.Entries[ref&(1<<memberShift-1)], int(ref>>memberShift) // #nosec G115 -- as Fill made it
	r := &c.of[int(e.Cluster)*c.script.Members+member]
	k := &r.own
	if e.Call == Race || e.Call == Lead {
		k = &r.leads
	}
	k.SessionEnded(c.to, o)
}
