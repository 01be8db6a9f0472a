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

// numberOf is the number of a cluster's key.
func (s *Script) numberOf(cluster int, k Key) uint64 {
	return uint64(cluster*s.PerCluster() + int(k)) // #nosec G115 -- below Keys
}

// chronicle records what the members' calls were, for who checks the answers: to take the
// leader's key is a compare-and-set that is to find nothing, what a member puts says which
// call wrote it, and leader's and members' keys end with leases or sessions.
type chronicle struct {
	engine.HistoryBase
	script *Script
	to     *history.Recorder
	heard  watch.History
	lists  lists
	values values
	of     []recorded
	led    []int16 // by cluster: who has its lock, with a token; nobody
	leased bool    // keys end with leases, or sessions that are renewed, and no connection's
	life   int64   // of a lease or session that is not kept alive
	last   int64   // when the last ended
	left   app.LeftKeys
}

// recorded is what is recorded of a member so far.
type recorded struct {
	own, leads app.EphemeralKey // its key, and its cluster's leader's key, as far as it made it
	lease      app.Lease
	hold       app.Hold // of its cluster
	wrote      int64    // when the newest write was sent that was answered; 0: none was
}

var _ app.Steps = (*chronicle)(nil)

// Steps implements app.Model.
func (s *Script) Steps(to *history.Recorder) app.Steps {
	c := &chronicle{
		script: s, to: to, leased: s.Way != Nodes, life: int64(s.way.lives()),
		of: make([]recorded, s.All()), led: make([]int16, s.Clusters), left: app.NewLeftKeys(s.Keys()),
	}
	c.heard = watch.History{To: to, Newest: s.Way == Nodes}
	if plan := s.Watching(); plan != nil {
		c.heard.Watchers = plan.Sink.Watchers
	}
	c.lists = lists{of: c}
	held := s.way.keep()
	for m := range c.of {
		cluster, member, r := m/s.Members, m%s.Members, &c.of[m]
		r.own.Number, r.leads.Number = s.numberOf(cluster, MemberKey(member)), s.numberOf(cluster, Leader)
		if c.leased { // they are there before the load, from when its leases were granted on
			r.lease.ID = held[m*len(held)/len(c.of)]
			r.own.There, r.leads.There = true, member == 0
		}
	}
	for i := range c.led {
		c.led[i] = nobody
	}
	s.records = c
	return c
}

// Ended implements engine.History.
func (c *chronicle) Ended(done *engine.Completion) {
	n, ref, lease, ev, o := done.N, done.Ref, done.Expected, done.Event, done.Op
	s := c.script
	e, member := s.schedule.Entries[n], int(ref>>memberShift) // #nosec G115 -- as Fill made it
	cluster := int(e.Cluster)
	m := cluster*s.Members + member
	c.left.Sent(o.Invoked)
	c.last, o.At = o.Done, max(ev.At, 0)
	c.mayHaveEnded(cluster, o.Done, o.Done)
	switch e.Call {
	case RenewLeader, RenewReplica:
		c.renewed(m, lease, ev, o)
	case PutStatus:
		c.put(s.numberOf(cluster, Status), n, o)
	case PutHistory:
		c.put(s.numberOf(cluster, History), n, o)
	case Join:
		c.made(m, n, o)
	case PutMember:
		if !c.leased && lease == created {
			c.made(m, n, o)
			break
		}
		c.putMember(m, n, lease, o)
	case Race, Lead:
		c.takes(m, lease, e.Call == Lead, o)
	case ReadKey:
		c.readKey(s.numberOf(cluster, e.Key), ev, o)
	case ReadCluster:
		c.listed(cluster, 0, Key(s.PerCluster()), ev, o) // #nosec G115 -- few
	case ListKeys:
		first, behind := Initialize, FirstMember
		if e.Key == FirstMember {
			first, behind = behind, Key(s.PerCluster()) // #nosec G115 -- few
		}
		c.listed(cluster, first, behind, ev, o)
	}
	if o.Kind.Writes() && o.Acknowledged() {
		c.of[m].wrote = max(c.of[m].wrote, o.Invoked)
	}
}

// put is a write of a key that nothing ends.
func (c *chronicle) put(number, n uint64, o *history.Op) {
	o.Key, o.Written = number, keys.Identity(n)
	if !c.leased { // how often it was written is not asked
		o.Expected = history.AnyMod
	}
	c.to.Add(o)
}

// putMember is a write of a member's key, with its lease or session, or of a node that is
// there: if it is not, that is refused.
func (c *chronicle) putMember(m int, n uint64, lease int64, o *history.Op) {
	k := &c.of[m].own
	o.Written = keys.Identity(n)
	switch {
	case c.leased:
		c.bound(m, k, lease, o)
	case o.Outcome == kv.Conflict:
		o.Read = history.Absent
		k.Absent()
	default:
		k.Set(o)
	}
	c.put(k.Number, n, o)
}

// made is the creation of a member's node.
func (c *chronicle) made(m int, n uint64, o *history.Op) {
	k := &c.of[m].own
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(n)
	c.creates(k, true, o)
	c.to.Add(o)
}

// creates is an operation that is to find nothing, of a key that ends with a session. What
// stands there was not asked for. Where only its maker could have made it, an earlier load
// did.
func (c *chronicle) creates(k *app.EphemeralKey, alone bool, o *history.Op) {
	if o.Outcome == kv.Conflict {
		if o.Read = history.Unseen; alone && !k.There {
			c.earlier(k.Number, o.Done)
		}
	}
	k.MayBeMade(o)
}

// takes is a member's attempt to take the leader's key. Whose it is says its value, and each
// takes it once.
func (c *chronicle) takes(m int, lease int64, first bool, o *history.Op) {
	s, r := c.script, &c.of[m]
	k := &r.leads
	o.Kind, o.Key, o.Written = kv.CAS, k.Number, keys.Identity(uint64(m%s.Members)) // #nosec G115 -- a count
	if !c.leased {
		c.creates(k, first, o)
		c.to.Add(o)
		return
	}
	if o.Outcome == kv.Conflict {
		if o.Read = history.Unseen; s.Way == Locks { // a lock that has ended is not to be had for a while
			o.Expected = history.AnyMod
		}
	}
	c.bound(m, k, lease, o)
	c.to.Add(o)
	if s.Way != Leases || o.Outcome != kv.OK || lease == 0 || lease != r.lease.ID {
		return
	}
	cluster := m / s.Members
	before := int(c.led[cluster])
	c.led[cluster] = int16(m % s.Members) // #nosec G115 -- few
	r.hold.Granted(c.to, uint64(cluster), uint32(m), &r.lease, o.At, o)
	if before != nobody { // nothing had told it otherwise
		old := &c.of[cluster*s.Members+before]
		old.hold.Released(c.to, uint64(cluster), uint32(cluster*s.Members+before), &old.lease, o.Done+1, o.Done+1) // #nosec G115 -- counts
	}
}

// bound notes that a call bound a key to a member's lease, or may have.
func (c *chronicle) bound(m int, k *app.EphemeralKey, lease int64, o *history.Op) {
	switch {
	case lease == 0: // to none: nothing ends it
		if o.Acknowledged() {
			k.Absent()
		}
	case lease == c.of[m].lease.ID:
		k.MayBeMade(o)
	case o.Acknowledged() || o.Indefinite():
		app.RecordGone(c.to, k.Number, uint32(m), o.Invoked, o.Done) // #nosec G115 -- a count
	}
}

// readKey is a read of one key, by which a member asks whether it is there.
func (c *chronicle) readKey(number uint64, ev *store.Event, o *history.Op) {
	if o.Key = number; o.Outcome == kv.OK && ev.Outcome == kv.Miss {
		o.Outcome = kv.Miss
	}
	if c.found(ev, o); o.Mod > 0 && leased(Key(number%uint64(c.script.PerCluster()))) && !c.ours(number, o.Mod) { // #nosec G115 -- counts
		c.earlier(number, o.Done)
	}
	c.to.Add(o)
}

// found is what a read's answer says of its key.
func (c *chronicle) found(ev *store.Event, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	o.Read, o.Mod = c.identity(o.Key, ev.Value), ev.Made()
}

// ours reports whether what is told of a key at a revision is surely of what this load made,
// or of later: what an earlier load left was gone before that.
func (c *chronicle) ours(number uint64, revision int64) bool {
	s := c.script
	each := uint64(s.PerCluster()) // #nosec G115 -- a count
	cluster, k := int(number/each), Key(number%each)
	if k >= FirstMember {
		return c.of[cluster*s.Members+int(k-FirstMember)].own.MadeBy(revision)
	}
	for m := cluster * s.Members; m < (cluster+1)*s.Members; m++ {
		if c.of[m].leads.MadeBy(revision) {
			return true
		}
	}
	return false
}

// earlier records that a key that an earlier load left may go, since its session ends in this.
func (c *chronicle) earlier(number uint64, now int64) {
	if !c.leased {
		c.left.MayEnd(c.to, number, now)
	}
}

// Read implements app.Steps.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	o.Key = number
	c.found(ev, o)
	c.to.Add(o)
}

// Told implements engine.History.
func (c *chronicle) Told(watcher uint32, ev *store.Event, asked, from, now int64) {
	if c.last = max(c.last, now); ev.What == store.Notify {
		c.mayHaveEnded(int(c.heard.Watchers[watcher].First)/c.script.PerCluster(), now, now) // #nosec G115 -- below Keys
	}
	c.heard.Told(watcher, ev, asked, from, now, c)
}

// Happened implements watch.Happened. It is false of a key of the cluster that is none of
// this load's: others may have left it.
func (c *chronicle) Happened(watcher uint32, ev *store.Event, o *history.Op) bool {
	s := c.script
	number, ours := s.Number(s.prefix, ev.Key)
	if !ours {
		o.Outcome = kv.WrongAnswer
		c.values.key = AppendScope(c.values.key[:0], s.prefix, int(c.heard.Watchers[watcher].First)/s.PerCluster()) // #nosec G115 -- below Keys
		return !bytes.HasPrefix(ev.Key, c.values.key)
	}
	switch o.Key = number; {
	case ev.Version > 0:
		o.Read = c.identity(number, ev.Value)
	case ev.Version < 0:
		o.Read = history.Unseen
	case Key(number%uint64(s.PerCluster())) == Leader: // #nosec G115 -- counts
		c.vacant(int(number)/s.PerCluster(), ev.Revision) // #nosec G115 -- below Keys
		if !c.ours(number, ev.Revision) {
			c.earlier(number, o.Done)
		}
	}
	return true
}

// vacant notes that a cluster's members know that nobody leads it any more.
func (c *chronicle) vacant(cluster int, since int64) {
	leader := int(c.led[cluster])
	if leader == nobody {
		return
	}
	if r := &c.of[cluster*c.script.Members+leader]; r.hold.Token < since {
		r.hold.Token, c.led[cluster] = 0, nobody
	}
}

// Closed implements engine.History: nothing keeps anything alive any more, and the
// sessions of connections are closed.
func (c *chronicle) Closed(now int64) {
	if c.leased {
		for cluster := range c.led {
			c.mayHaveEnded(cluster, math.MaxInt64, now)
		}
		return
	}
	// The leader hears of a session by a write, and of one that lives from its member, for
	// what that had heard: it may be as old as the pings are apart.
	heard := c.life - int64(c.script.PingEvery())
	for m := range c.of {
		r := &c.of[m]
		sure := r.wrote > 0 && now < r.wrote+heard-int64(time.Second)
		c.sessionEnds(m, sure, now)
	}
}
