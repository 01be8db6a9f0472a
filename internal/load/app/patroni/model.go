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
	each := uint64(s.KeysPerCluster())                                // #nosec G115 -- a count
	return AppendKey(b, s.prefix, int(number/each), Key(number%each)) // #nosec G115 -- below Keys
}

// keyNumber returns the number of a cluster's key, counted over all clusters.
func (s *Script) keyNumber(cluster int, k Key) uint64 {
	return uint64(cluster*s.KeysPerCluster() + int(k)) // #nosec G115 -- below Keys
}

// chronicle records the members' calls in the history that is verified after the load. A call that
// takes the leader's key is recorded as a compare-and-set that requires that the key does not
// exist. The value that a member writes identifies the call. The leader's key and the members' keys
// are bound to leases or sessions.
type chronicle struct {
	engine.HistoryBase
	script       *Script
	recorder     *history.Recorder
	watchHistory watch.History
	lists        lists
	values       values
	members      []memberRecord
	holders      []int16 // by cluster: the member that holds the cluster's lock, or none
	hasLeases    bool    // keys are bound to leases or renewed sessions, not to the sessions of connections
	sessionTTL   int64   // TTL of a lease or session, in nanoseconds
	lastTime     int64   // end of the latest operation, or time of the latest event
	leftKeys     app.LeftKeys
}

// memberRecord holds what has been recorded about a member until now.
type memberRecord struct {
	ownKey, leaderKey app.EphemeralKey // its own key, and the leader's key of its cluster if it created that key
	lease             app.Lease
	hold              app.Hold // its hold of the cluster's lock
	lastWriteSent     int64    // when its latest acknowledged write was sent; 0: none
}

var _ app.KeyRecorder = (*chronicle)(nil)

// NewKeyRecorder implements app.Model.
func (s *Script) NewKeyRecorder(recorder *history.Recorder) app.KeyRecorder {
	c := &chronicle{
		script: s, recorder: recorder, hasLeases: s.Way != Nodes, sessionTTL: int64(s.way.lifetime()),
		members: make([]memberRecord, s.MemberCount()), holders: make([]int16, s.Clusters), leftKeys: app.NewLeftKeys(s.Keys()),
	}
	c.watchHistory = watch.History{Recorder: recorder, LatestOnly: s.Way == Nodes}
	if plan := s.WatchPlan(); plan != nil {
		c.watchHistory.Watchers = plan.Sink.Watchers
	}
	c.lists = lists{chronicle: c}
	held := s.way.save()
	for m := range c.members {
		cluster, member, r := m/s.Members, m%s.Members, &c.members[m]
		r.ownKey.Number, r.leaderKey.Number = s.keyNumber(cluster, MemberKey(member)), s.keyNumber(cluster, Leader)
		// The keys were written before the load, with leases that were also granted before the
		// load.
		if c.hasLeases {
			r.lease.ID = held[m*len(held)/len(c.members)]
			r.ownKey.MayExist, r.leaderKey.MayExist = true, member == 0
		}
	}
	for i := range c.holders {
		c.holders[i] = none
	}
	s.chronicle = c
	return c
}

// OperationEnded implements engine.History.
func (c *chronicle) OperationEnded(done *engine.Completion) {
	n, ref, lease, ev, o := done.N, done.Ref, done.Expected, done.Event, done.Op
	s := c.script
	e, member := s.schedule.Entries[n], int(ref>>memberShift) // #nosec G115 -- encoded by Fill
	cluster := int(e.Cluster)
	m := cluster*s.Members + member
	c.leftKeys.RecordFirstCall(o.Invoked)
	c.lastTime, o.Revision = o.Done, max(ev.StoreRevision, 0)
	c.recordExpiries(cluster, o.Done, o.Done)
	switch e.Call {
	case RenewLeader, RenewReplica:
		c.recordRenewal(m, lease, ev, o)
	case PutStatus:
		c.recordPut(s.keyNumber(cluster, Status), n, o)
	case PutHistory:
		c.recordPut(s.keyNumber(cluster, History), n, o)
	case Join:
		c.recordCreate(m, n, o)
	case PutMember:
		if !c.hasLeases && lease == createMark {
			c.recordCreate(m, n, o)
			break
		}
		c.recordPutMember(m, n, lease, o)
	case Race, Lead:
		c.recordRace(m, lease, e.Call == Lead, o)
	case ReadKey:
		c.recordRead(s.keyNumber(cluster, e.Key), ev, o)
	case ReadCluster:
		c.recordList(cluster, 0, Key(s.KeysPerCluster()), ev, o) // #nosec G115 -- a small count
	case ListKeys:
		first, end := Initialize, FirstMember
		if e.Key == FirstMember {
			first, end = end, Key(s.KeysPerCluster()) // #nosec G115 -- a small count
		}
		c.recordList(cluster, first, end, ev, o)
	}
	if o.Kind.Writes() && o.Acknowledged() {
		c.members[m].lastWriteSent = max(c.members[m].lastWriteSent, o.Invoked)
	}
}

// recordPut records a write of a key that is not bound to a lease or session.
func (c *chronicle) recordPut(number, n uint64, o *history.Op) {
	o.Key, o.Written = number, keys.Identity(n)
	if !c.hasLeases { // the current version of the key is unknown
		o.Expected = history.UnknownRevision
	}
	c.recorder.Add(o)
}

// recordPutMember records a write of a member's key. If keys are bound to leases or renewed
// sessions, the write binds the key to the member's lease or session. Otherwise the write sets an
// existing node, and its outcome is a conflict if the node does not exist.
func (c *chronicle) recordPutMember(m int, n uint64, lease int64, o *history.Op) {
	k := &c.members[m].ownKey
	o.Written = keys.Identity(n)
	switch {
	case c.hasLeases:
		c.recordBinding(m, k, lease, o)
	case o.Outcome == kv.Conflict:
		o.Read = history.Absent
		k.RecordAbsence()
	default:
		k.RecordSet(o)
	}
	c.recordPut(k.Number, n, o)
}

// recordCreate records that a member created its node.
func (c *chronicle) recordCreate(m int, n uint64, o *history.Op) {
	k := &c.members[m].ownKey
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(n)
	c.completeCreate(k, true, o)
	c.recorder.Add(o)
}

// completeCreate completes o, the creation of a key that is bound to a session. The creation
// requires that the key does not exist. After a conflict, the response does not contain the current
// value. The parameter `soleCreator` is true if no other member creates the key. If the key then
// exists unexpectedly, an earlier load created it.
func (c *chronicle) completeCreate(k *app.EphemeralKey, soleCreator bool, o *history.Op) {
	if o.Outcome == kv.Conflict {
		if o.Read = history.UnknownValue; soleCreator && !k.MayExist {
			c.recordEarlier(k.Number, o.Done)
		}
	}
	k.RecordCreate(o)
}

// recordRace records that a member tried to take the leader's key. The written value is the
// member's name. Each member takes the key at most once.
func (c *chronicle) recordRace(m int, lease int64, clusterStart bool, o *history.Op) {
	s, r := c.script, &c.members[m]
	k := &r.leaderKey
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(uint64(m%s.Members)) // #nosec G115 -- a count
	if !c.hasLeases {
		c.completeCreate(k, clusterStart, o)
		c.recorder.Add(o)
		return
	}
	if o.Outcome == kv.Conflict {
		// The conflict does not show that the key exists: after the end of a session, its lock
		// cannot be acquired for a while.
		if o.Read = history.UnknownValue; s.Way == Locks {
			o.Expected = history.UnknownRevision
		}
	}
	c.recordBinding(m, k, lease, o)
	c.recorder.Add(o)
	if s.Way != Leases || o.Outcome != kv.OK || lease == 0 || lease != r.lease.ID {
		return
	}
	cluster := m / s.Members
	before := int(c.holders[cluster])
	c.holders[cluster] = int16(m % s.Members) // #nosec G115 -- a small count
	r.hold.RecordGrant(c.recorder, uint64(cluster), uint32(m), &r.lease, o.Revision, o)
	if before != none { // the previous holder has not learned in another way that its hold has ended
		old := &c.members[cluster*s.Members+before]
		old.hold.RecordRelease(c.recorder, uint64(cluster), uint32(cluster*s.Members+before), &old.lease, o.Done+1, o.Done+1) // #nosec G115 -- counts
	}
}

// recordBinding records a call that bound a key to a member's lease, or may have done so.
func (c *chronicle) recordBinding(m int, k *app.EphemeralKey, lease int64, o *history.Op) {
	switch {
	case lease == 0: // a key that is not bound to a lease does not expire
		if o.Acknowledged() {
			k.RecordAbsence()
		}
	case lease == c.members[m].lease.ID:
		k.RecordCreate(o)
	case o.Acknowledged() || o.Indefinite():
		app.RecordPossibleDelete(c.recorder, k.Number, uint32(m), o.Invoked, o.Done) // #nosec G115 -- a count
	}
}

// recordRead records a read of a single key. The key may be missing.
func (c *chronicle) recordRead(number uint64, ev *store.Event, o *history.Op) {
	if o.Key = number; o.Outcome == kv.OK && ev.Outcome == kv.Miss {
		o.Outcome = kv.Miss
	}
	if c.setRead(ev, o); o.ModRevision > 0 && isLeased(Key(number%uint64(c.script.KeysPerCluster()))) && !c.isOwn(number, o.ModRevision) { // #nosec G115 -- counts
		c.recordEarlier(number, o.Done)
	}
	c.recorder.Add(o)
}

// setRead completes o, a read, with the key's value from the response.
func (c *chronicle) setRead(ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	o.Read, o.ModRevision = c.identity(o.Key, ev.Value), ev.VersionRevision()
}

// isOwn reports whether it is certain that, at the given revision, the key does not belong to an
// earlier load. It is certain if this load had created the key by then, because the earlier load's
// key must have been deleted before that.
func (c *chronicle) isOwn(number uint64, revision int64) bool {
	s := c.script
	each := uint64(s.KeysPerCluster()) // #nosec G115 -- a count
	cluster, k := int(number/each), Key(number%each)
	if k >= FirstMember {
		return c.members[cluster*s.Members+int(k-FirstMember)].ownKey.CreatedBy(revision)
	}
	for m := cluster * s.Members; m < (cluster+1)*s.Members; m++ {
		if c.members[m].leaderKey.CreatedBy(revision) {
			return true
		}
	}
	return false
}

// recordEarlier records that a key from an earlier load may be deleted, because the session that
// created the key may end during this load.
func (c *chronicle) recordEarlier(number uint64, now int64) {
	if !c.hasLeases {
		c.leftKeys.RecordPossibleEnd(c.recorder, number, now)
	}
}

// Read implements app.KeyRecorder.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.setRead(ev, o)
	c.recorder.Add(o)
}

// WatchEvent implements engine.History.
func (c *chronicle) WatchEvent(watcher uint32, ev *store.Event, asked, from, now int64) {
	if c.lastTime = max(c.lastTime, now); ev.Type == store.WatchChange {
		c.recordExpiries(int(c.watchHistory.Watchers[watcher].First)/c.script.KeysPerCluster(), now, now) // #nosec G115 -- below Keys
	}
	c.watchHistory.Record(watcher, ev, asked, from, now, c)
}

// CompleteEvent implements watch.EventCompleter. It returns false if the key is below the cluster's
// scope but does not belong to this load. Another program may have left such a key.
func (c *chronicle) CompleteEvent(watcher uint32, ev *store.Event, o *history.Op) bool {
	s := c.script
	number, own := s.Number(s.prefix, ev.Key)
	if !own {
		o.Outcome = kv.WrongResponse
		c.values.key = AppendScope(c.values.key[:0], s.prefix, int(c.watchHistory.Watchers[watcher].First)/s.KeysPerCluster()) // #nosec G115 -- below Keys
		return !bytes.HasPrefix(ev.Key, c.values.key)
	}
	switch o.Key = number; {
	case ev.Version > 0:
		o.Read = c.identity(number, ev.Value)
	case ev.Version < 0:
		o.Read = history.UnknownValue
	case Key(number%uint64(s.KeysPerCluster())) == Leader: // #nosec G115 -- counts
		c.recordVacancy(int(number)/s.KeysPerCluster(), ev.Revision) // #nosec G115 -- below Keys
		if !c.isOwn(number, ev.Revision) {
			c.recordEarlier(number, o.Done)
		}
	}
	return true
}

// recordVacancy records that the members of a cluster have learned that it has no leader.
func (c *chronicle) recordVacancy(cluster int, since int64) {
	leader := int(c.holders[cluster])
	if leader == none {
		return
	}
	if r := &c.members[cluster*c.script.Members+leader]; r.hold.Token < since {
		r.hold.Token, c.holders[cluster] = 0, none
	}
}

// LoadEnded implements engine.History. After this call, leases are not renewed. The sessions of
// connections are closed.
func (c *chronicle) LoadEnded(now int64) {
	if c.hasLeases {
		for cluster := range c.holders {
			c.recordExpiries(cluster, math.MaxInt64, now)
		}
		return
	}
	// The store's leader learns from a write that a session is alive, or from the member to which
	// the session is connected. That member reports the latest ping that it has received. This ping
	// is at most PingInterval old.
	heard := c.sessionTTL - int64(c.script.PingInterval())
	for m := range c.members {
		r := &c.members[m]
		sure := r.lastWriteSent > 0 && now < r.lastWriteSent+heard-int64(time.Second)
		c.recordSessionEnd(m, sure, now)
	}
}
