package patroni

import (
	"bytes"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// AppendKey implements app.Model.
func (s *Script) AppendKey(b []byte, number uint64) []byte {
	each := uint64(s.PerCluster())                                    // #nosec G115 -- a count
	return AppendKey(b, s.prefix, int(number/each), Key(number%each)) // #nosec G115 -- below Keys
}

// numberOf returns the number of a cluster's key, counted over all clusters.
func (s *Script) numberOf(cluster int, k Key) uint64 {
	return uint64(cluster*s.PerCluster() + int(k)) // #nosec G115 -- below Keys
}

// chronicle records the members' calls in the history that is verified after the load. A call that
// takes the leader's key is recorded as a compare-and-set that requires that the key does not
// exist. The value that a member writes identifies the call. The leader's key and the members' keys
// are bound to leases or sessions.
type chronicle struct {
	engine.HistoryBase
	script  *Script
	to      *history.Recorder
	watched watch.History
	lists   lists
	values  values
	of      []recorded
	holders []int16 // by cluster: the member that holds the cluster's lock, or none
	leased  bool    // keys are bound to leases or renewed sessions, not to the sessions of connections
	life    int64   // TTL of a lease or session, in nanoseconds
	last    int64   // end of the latest operation, or time of the latest event
	left    app.LeftKeys
}

// recorded holds what has been recorded about a member until now.
type recorded struct {
	own, leads app.EphemeralKey // its own key, and the leader's key of its cluster if it created that key
	lease      app.Lease
	hold       app.Hold // its hold of the cluster's lock
	wrote      int64    // when its latest acknowledged write was sent; 0: none
}

var _ app.Steps = (*chronicle)(nil)

// Steps implements app.Model.
func (s *Script) Steps(to *history.Recorder) app.Steps {
	c := &chronicle{
		script: s, to: to, leased: s.Way != Nodes, life: int64(s.way.lifetime()),
		of: make([]recorded, s.MemberCount()), holders: make([]int16, s.Clusters), left: app.NewLeftKeys(s.Keys()),
	}
	c.watched = watch.History{To: to, Newest: s.Way == Nodes}
	if plan := s.Watching(); plan != nil {
		c.watched.Watchers = plan.Sink.Watchers
	}
	c.lists = lists{of: c}
	held := s.way.save()
	for m := range c.of {
		cluster, member, r := m/s.Members, m%s.Members, &c.of[m]
		r.own.Number, r.leads.Number = s.numberOf(cluster, MemberKey(member)), s.numberOf(cluster, Leader)
		// The keys were written before the load. The earliest possible time is that of the grant of
		// the lease.
		if c.leased {
			r.lease.ID = held[m*len(held)/len(c.of)]
			r.own.There, r.leads.There = true, member == 0
		}
	}
	for i := range c.holders {
		c.holders[i] = none
	}
	s.records = c
	return c
}

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	n, ref, lease, ev, o := done.N, done.Ref, done.Expected, done.Event, done.Op
	s := c.script
	e, member := s.schedule.Entries[n], int(ref>>memberShift) // #nosec G115 -- encoded by Fill
	cluster := int(e.Cluster)
	m := cluster*s.Members + member
	c.left.Sent(o.Invoked)
	c.last, o.At = o.Done, max(ev.At, 0)
	c.recordExpiries(cluster, o.Done, o.Done)
	switch e.Call {
	case RenewLeader, RenewReplica:
		c.recordRenewal(m, lease, ev, o)
	case PutStatus:
		c.recordPut(s.numberOf(cluster, Status), n, o)
	case PutHistory:
		c.recordPut(s.numberOf(cluster, History), n, o)
	case Join:
		c.recordCreate(m, n, o)
	case PutMember:
		if !c.leased && lease == created {
			c.recordCreate(m, n, o)
			break
		}
		c.recordPutMember(m, n, lease, o)
	case Race, Lead:
		c.recordRace(m, lease, e.Call == Lead, o)
	case ReadKey:
		c.recordRead(s.numberOf(cluster, e.Key), ev, o)
	case ReadCluster:
		c.recordList(cluster, 0, Key(s.PerCluster()), ev, o) // #nosec G115 -- a small count
	case ListKeys:
		first, end := Initialize, FirstMember
		if e.Key == FirstMember {
			first, end = end, Key(s.PerCluster()) // #nosec G115 -- a small count
		}
		c.recordList(cluster, first, end, ev, o)
	}
	if o.Kind.Writes() && o.Acknowledged() {
		c.of[m].wrote = max(c.of[m].wrote, o.Invoked)
	}
}

// recordPut records a write of a key that is not bound to a lease or session.
func (c *chronicle) recordPut(number, n uint64, o *history.Op) {
	o.Key, o.Written = number, keys.Identity(n)
	if !c.leased { // the current version of the key is unknown
		o.Expected = history.AnyMod
	}
	c.to.Add(o)
}

// recordPutMember records a write of a member's key. If keys are bound to leases or renewed
// sessions, the write binds the key to the member's lease or session. Otherwise the write sets an
// existing node, and its outcome is a conflict if the node does not exist.
func (c *chronicle) recordPutMember(m int, n uint64, lease int64, o *history.Op) {
	k := &c.of[m].own
	o.Written = keys.Identity(n)
	switch {
	case c.leased:
		c.noteBound(m, k, lease, o)
	case o.Outcome == kv.Conflict:
		o.Read = history.Absent
		k.Absent()
	default:
		k.Set(o)
	}
	c.recordPut(k.Number, n, o)
}

// recordCreate records that a member created its node.
func (c *chronicle) recordCreate(m int, n uint64, o *history.Op) {
	k := &c.of[m].own
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(n)
	c.completeCreate(k, true, o)
	c.to.Add(o)
}

// completeCreate completes o, the creation of a key that is bound to a session. The creation
// requires that the key does not exist. After a conflict, the response does not contain the current
// value. The parameter `alone` is true if no other member creates the key. If the key then exists
// unexpectedly, an earlier load created it.
func (c *chronicle) completeCreate(k *app.EphemeralKey, alone bool, o *history.Op) {
	if o.Outcome == kv.Conflict {
		if o.Read = history.Unseen; alone && !k.There {
			c.recordEarlier(k.Number, o.Done)
		}
	}
	k.MayBeMade(o)
}

// recordRace records that a member tried to take the leader's key. The written value is the
// member's name. Each member takes the key at most once.
func (c *chronicle) recordRace(m int, lease int64, first bool, o *history.Op) {
	s, r := c.script, &c.of[m]
	k := &r.leads
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(uint64(m%s.Members)) // #nosec G115 -- a count
	if !c.leased {
		c.completeCreate(k, first, o)
		c.to.Add(o)
		return
	}
	if o.Outcome == kv.Conflict {
		// The key need not exist: after the end of a session, its lock cannot be acquired for a
		// while.
		if o.Read = history.Unseen; s.Way == Locks {
			o.Expected = history.AnyMod
		}
	}
	c.noteBound(m, k, lease, o)
	c.to.Add(o)
	if s.Way != Leases || o.Outcome != kv.OK || lease == 0 || lease != r.lease.ID {
		return
	}
	cluster := m / s.Members
	before := int(c.holders[cluster])
	c.holders[cluster] = int16(m % s.Members) // #nosec G115 -- a small count
	r.hold.Granted(c.to, uint64(cluster), uint32(m), &r.lease, o.At, o)
	if before != none { // the previous holder has not learned in another way that its hold has ended
		old := &c.of[cluster*s.Members+before]
		old.hold.Released(c.to, uint64(cluster), uint32(cluster*s.Members+before), &old.lease, o.Done+1, o.Done+1) // #nosec G115 -- counts
	}
}

// noteBound records a call that bound a key to a member's lease, or may have done so.
func (c *chronicle) noteBound(m int, k *app.EphemeralKey, lease int64, o *history.Op) {
	switch {
	case lease == 0: // a key that is not bound to a lease does not expire
		if o.Acknowledged() {
			k.Absent()
		}
	case lease == c.of[m].lease.ID:
		k.MayBeMade(o)
	case o.Acknowledged() || o.Indefinite():
		app.RecordPossibleDelete(c.to, k.Number, uint32(m), o.Invoked, o.Done) // #nosec G115 -- a count
	}
}

// recordRead records a read of a single key. The key may be missing.
func (c *chronicle) recordRead(number uint64, ev *store.Event, o *history.Op) {
	if o.Key = number; o.Outcome == kv.OK && ev.Outcome == kv.Miss {
		o.Outcome = kv.Miss
	}
	if c.setRead(ev, o); o.Mod > 0 && leased(Key(number%uint64(c.script.PerCluster()))) && !c.isOwn(number, o.Mod) { // #nosec G115 -- counts
		c.recordEarlier(number, o.Done)
	}
	c.to.Add(o)
}

// setRead completes o, a read, with the key's value from the response.
func (c *chronicle) setRead(ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	o.Read, o.Mod = c.identity(o.Key, ev.Value), ev.VersionRevision()
}

// isOwn reports whether it is certain that, at the given revision, the key does not belong to an
// earlier load. It is certain if this load had created the key by then, because the earlier load's
// key must have been deleted before that.
func (c *chronicle) isOwn(number uint64, revision int64) bool {
	s := c.script
	each := uint64(s.PerCluster()) // #nosec G115 -- a count
	cluster, k := int(number/each), Key(number%each)
	if k >= FirstMember {
		return c.of[cluster*s.Members+int(k-FirstMember)].own.CreatedBy(revision)
	}
	for m := cluster * s.Members; m < (cluster+1)*s.Members; m++ {
		if c.of[m].leads.CreatedBy(revision) {
			return true
		}
	}
	return false
}

// recordEarlier records that a key from an earlier load may be deleted, because the session that
// created the key may end during this load.
func (c *chronicle) recordEarlier(number uint64, now int64) {
	if !c.leased {
		c.left.MayEnd(c.to, number, now)
	}
}

// Read implements app.Steps.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.setRead(ev, o)
	c.to.Add(o)
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	if c.last = max(c.last, now); ev.What == store.Notify {
		c.recordExpiries(int(c.watched.Watchers[watcher].First)/c.script.PerCluster(), now, now) // #nosec G115 -- below Keys
	}
	c.watched.Record(watcher, ev, asked, from, now, c)
}

// CompleteEvent implements watch.EventCompleter. It returns false if the key is below the cluster's
// scope but does not belong to this load. Another program may have left such a key.
func (c *chronicle) CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool {
	s := c.script
	number, own := s.Number(s.prefix, ev.Key)
	if !own {
		o.Outcome = kv.WrongAnswer
		c.values.key = AppendScope(c.values.key[:0], s.prefix, int(c.watched.Watchers[watcher].First)/s.PerCluster()) // #nosec G115 -- below Keys
		return !bytes.HasPrefix(ev.Key, c.values.key)
	}
	switch o.Key = number; {
	case ev.Version > 0:
		o.Read = c.identity(number, ev.Value)
	case ev.Version < 0:
		o.Read = history.Unseen
	case Key(number%uint64(s.PerCluster())) == Leader: // #nosec G115 -- counts
		c.noteVacant(int(number)/s.PerCluster(), ev.Revision) // #nosec G115 -- below Keys
		if !c.isOwn(number, ev.Revision) {
			c.recordEarlier(number, o.Done)
		}
	}
	return true
}

// noteVacant records that the members of a cluster have learned that it has no leader.
func (c *chronicle) noteVacant(cluster int, since int64) {
	leader := int(c.holders[cluster])
	if leader == none {
		return
	}
	if r := &c.of[cluster*c.script.Members+leader]; r.hold.Token < since {
		r.hold.Token, c.holders[cluster] = 0, none
	}
}

// Closed implements engine.History. After this call, leases are not renewed. The sessions of
// connections are closed.
func (c *chronicle) Closed(now int64) {
	if c.leased {
		for cluster := range c.holders {
			c.recordExpiries(cluster, math.MaxInt64, now)
		}
		return
	}
	// The store's leader learns from a write that a session is alive, or from the member to which
	// the session is connected. That member reports the latest ping that it has received. This ping
	// is at most PingEvery old.
	heard := c.life - int64(c.script.PingEvery())
	for m := range c.of {
		r := &c.of[m]
		sure := r.wrote > 0 && now < r.wrote+heard-int64(time.Second)
		c.recordSessionEnd(m, sure, now)
	}
}
