package patroni

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// recordedLoad is a load whose history is recorded. Each of its clusters has 3 members and 8 keys.
type recordedLoad struct {
	*source
	c  *chronicle
	to *storetest.Recording
}

func record(t *testing.T, way Way) *recordedLoad {
	c := Config{Way: way, Clusters: 4, Members: 3, WrittenClusters: 4, LeaderFailures: 2, LoopWait: 5 * time.Second, TTL: 20 * time.Second, RetryTimeout: 2 * time.Second}
	s := NewWithConfig(c, app.Setup{Length: time.Minute, Prefix: "/service/"})
	for all := range c.MemberCount() {
		if wrong := s.way.handleRenewal(all, &store.Event{Count: int64(all) + 1, Value: []byte(aSession)}); wrong != nil {
			t.Fatalf("%s", wrong)
		}
	}
	r := &recordedLoad{source: &source{Script: s}, to: storetest.NewRecording(t)}
	r.c = s.NewKeyRecorder(&r.to.Recorder).(*chronicle)
	return r
}

// first returns the number of the first call of a given kind in cluster 1.
func (r *recordedLoad) first(call Call, key Key) uint64 {
	for n, e := range r.schedule.Entries {
		if e.Call == call && e.Cluster == 1 && e.Key == key {
			return uint64(n)
		}
	}
	panic("the load has no such call")
}

// ended makes the first call of a kind end with the given event. The call is invoked at time 100
// and done at time 200. For ReadKey and ListKeys, the call must also have the given key. ended
// returns the operations that were recorded.
func (r *recordedLoad) ended(call Call, key Key, ev store.Event) []history.Op {
	return r.endedAt(r.first(call, key), ev, 100, 200)
}

func (r *recordedLoad) endedAt(n uint64, ev store.Event, from, to int64) []history.Op {
	var op store.Op
	ref := r.Fill(measure.Measured, n, 0, &op)
	outcome := ev.Outcome
	if !outcome.Failed() {
		outcome = r.Check(op.Kind, ref, &ev)
	} else {
		r.OperationFailed(n)
	}
	r.OperationEnded(n, outcome, 1, 1)
	o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: outcome, Session: 9, Invoked: from, Done: to}
	r.c.OperationEnded(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &ev, Op: &o})
	return r.to.Since()
}

func timed(o history.Op, from, to int64) history.Op {
	o.Invoked, o.Done = from, to
	return o
}

// Keys of cluster 1, and the identities of their values.
const (
	leaderKey = 8 + uint64(Leader)
	statusKey = 8 + uint64(Status)
	ownKey    = 8 + uint64(FirstMember) // the first member's key
	identity0 = 1                       // keys.Identity(0)
)

// gone returns the record, made at time `now`, that a key may have been deleted at or after the
// time `from`.
func gone(key uint64, member uint32, from, now int64) history.Op {
	return history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: member, Key: key, Invoked: from, Done: now}
}

// Calls to etcd are recorded as operations that the verifier supports.
func TestRecordsCallsWithLeases(t *testing.T) {
	r := record(t, Leases)
	status := history.Op{Kind: kv.Put, Session: 9, Key: statusKey, Written: keys.Identity(r.first(PutStatus, 0)), Revision: 50}
	storetest.CheckOps(t, "status", r.ended(PutStatus, 0, store.Event{StoreRevision: 50}), status)
	member := history.Op{Kind: kv.Put, Session: 9, Key: ownKey, Written: keys.Identity(r.first(PutMember, 0)), Revision: 51}
	storetest.CheckOps(t, "member", r.ended(PutMember, 0, store.Event{StoreRevision: 51}), member)
	past := history.Op{Kind: kv.Put, Session: 9, Key: 8 + uint64(History), Written: keys.Identity(r.first(PutHistory, 0)), Revision: 52}
	storetest.CheckOps(t, "history", r.ended(PutHistory, 0, store.Event{StoreRevision: 52}), past)
	race := history.Op{Kind: kv.CAS, Session: 9, Key: leaderKey, Written: keys.Identity(1), Revision: 53, Outcome: kv.Conflict, Read: history.UnknownValue}
	storetest.CheckOps(t, "race, lost", r.ended(Race, 0, store.Event{StoreRevision: 53, Outcome: kv.Conflict}), race)
	race.Outcome, race.Read, race.Revision = kv.OK, 0, 54
	hold := history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: 4, Key: 1, Written: 5, ModRevision: 54}
	storetest.CheckOps(t, "race, won", r.ended(Race, 0, store.Event{StoreRevision: 54}), race, hold)

	n := r.first(ReadCluster, 0)
	e := r.schedule.Entries[n]
	r.leaders[1] = 1 // the winner, as the response to the race shows
	list := func(all ...uint64) []history.Op {
		l := &r.c.lists
		l.Begin(0)
		for _, number := range all {
			value := AppendName(nil, 1, 1)
			switch number {
			case statusKey:
				value = AppendStatus(nil, 1, 3, 7)
			case ownKey:
				value = AppendMember(nil, 0, true, 8)
			case 8 + uint64(ConfigKey):
				value = []byte(ConfigValue)
			}
			l.Add(0, r.AppendKey(nil, number), value, int64(40+number))
		}
		return r.endedAt(n, store.Event{StoreRevision: 60, Count: int64(len(all))}, 100, 200)
	}
	got := list(8+uint64(ConfigKey), leaderKey, statusKey, ownKey)
	if e.Call != ReadCluster || len(got) != 8 {
		t.Fatalf("records of a cluster: %+v", got)
	}
	for i, want := range []history.Op{
		{},
		{Read: identity0, ModRevision: 40 + 9},
		{Read: keys.Identity(1), ModRevision: 40 + int64(leaderKey)},
		{Read: keys.Identity(7), ModRevision: 40 + int64(statusKey)},
		{},
		{Read: keys.Identity(8), ModRevision: 40 + int64(ownKey)},
		{},
		{},
	} {
		want.Kind, want.Consistency, want.Session, want.Key, want.Revision, want.ContinuesPrevious = kv.Range, kv.Local, 9, 8+uint64(i), 60, i > 0
		storetest.CheckOps(t, "a key of the cluster", got[i:i+1], want)
	}
	if got = list(); len(got) != 8 || got[2].Outcome != kv.OK || got[2].Read != history.Absent {
		t.Errorf("records of a missing cluster: %+v", got)
	}
	got = r.endedAt(n, store.Event{StoreRevision: 60, Count: 5}, 100, 200)
	if len(got) != 1 || got[0].Read != history.UnknownValue {
		t.Errorf("records of a cluster whose keys were not passed on: %+v", got)
	}
}

// A key that is bound to a lease may have been deleted at any time since the earliest end of the
// lease. When the lease is found to have ended, the key is certain to have been deleted. A call may
// have bound the key to a different lease, or to no lease.
func TestRecordsLeaseEnds(t *testing.T) {
	r := record(t, Leases)
	n := r.first(RenewLeader, 0)
	alive := history.Op{Kind: kv.KeepAlive, Session: 9, Written: 4, ModRevision: 20, Revision: 50}
	storetest.CheckOps(t, "renewed", r.endedAt(n, store.Event{StoreRevision: 50, Count: 20}, 100, 200), alive)
	until := int64(100 + 20*time.Second)
	status := r.endedAt(r.first(PutStatus, 0), store.Event{StoreRevision: 51}, until+1, until+2)
	if len(status) != 3 || status[2].Kind != kv.Put {
		t.Fatalf("records of a lease that may have expired: %+v", status)
	}
	storetest.CheckOps(t, "its keys", status[:2], gone(ownKey, 3, until, until+2), gone(leaderKey, 3, until, until+2))
	over := timed(alive, until+3, until+4)
	over.Outcome, over.ModRevision, over.Revision = kv.BadRequest, 0, 52
	storetest.CheckOps(t, "found gone", r.endedAt(n, store.Event{StoreRevision: 52, Outcome: kv.BadRequest}, until+3, until+4), over)
	// A key without a lease does not expire.
	put := history.Op{Kind: kv.Put, Session: 9, Key: ownKey, Written: keys.Identity(r.first(PutMember, 0)), Revision: 53}
	storetest.CheckOps(t, "without a lease", r.endedAt(r.first(PutMember, 0), store.Event{StoreRevision: 53}, until+5, until+6), timed(put, until+5, until+6))
	granted := history.Op{Kind: kv.KeepAlive, Session: 9, Written: 77, ModRevision: 20, Revision: 54}
	storetest.CheckOps(t, "granted", r.endedAt(n, store.Event{StoreRevision: 54, Count: 77}, until+7, until+8), timed(granted, until+7, until+8))
	r.endedAt(r.first(PutMember, 0), store.Event{Outcome: kv.TimedOut}, until+9, until+10)
	r.c.LoadEnded(until + 11)
	var own []history.Op
	for _, o := range r.to.Since() {
		if o.Key == ownKey || o.Key == leaderKey {
			own = append(own, o)
		}
	}
	storetest.CheckOps(t, "at the end", own, gone(ownKey, 3, until+11, until+11))
	// If a call ends late, its lease may have been replaced in the meantime.
	r.c.recordBinding(3, &r.c.members[3].ownKey, 4, &history.Op{Kind: kv.Put, Invoked: 150, Done: until + 12})
	storetest.CheckOps(t, "with an earlier lease", r.to.Since(), gone(ownKey, 3, 150, until+12))
}

// A member that acquired a cluster's lock with a lease holds the lock until the cluster's members
// learn that the cluster has no leader. If no event reports this, the hold ends just after the hold
// of the next member begins.
func TestRecordsHolds(t *testing.T) {
	r := record(t, Leases)
	var races []uint64
	for n, e := range r.schedule.Entries {
		if e.Call == Race && e.Cluster == 1 {
			races = append(races, uint64(n))
		}
	}
	r.endedAt(races[0], store.Event{StoreRevision: 50}, 100, 200)
	got := r.endedAt(races[1], store.Event{StoreRevision: 60}, 100, 210)
	storetest.CheckOps(t, "two lead", got[1:],
		timed(history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: 5, Key: 1, Written: 6, ModRevision: 60}, 100, 210),
		timed(history.Op{Kind: kv.KeepAlive, LockChange: history.Released, Session: 4, Key: 1, Written: 5, ModRevision: 50}, 211, 211))
	tellGone := func(revision int64) {
		r.c.WatchEvent(3, &store.Event{Type: store.WatchChange, Key: r.AppendKey(nil, leaderKey), Revision: revision, StoreRevision: revision}, 0, 0, 300)
	}
	tellGone(55) // before the current leader took the key
	if r.c.holders[1] == none {
		t.Error("an old event ended the hold")
	}
	tellGone(70)
	if r.c.holders[1] != none {
		t.Error("the leader's key is gone, but its hold has not ended")
	}
}

// On Consul, responses to writes contain no index. After a session has ended, its lock cannot be
// acquired for a while.
func TestRecordsCallsWithLocks(t *testing.T) {
	r := record(t, Locks)
	name := sessionName([]byte(aSession))
	session := name.numbers()[0]
	alive := history.Op{Kind: kv.KeepAlive, Session: 9, Written: uint64(session), ModRevision: 10}
	storetest.CheckOps(t, "renewed", r.ended(RenewLeader, 0, store.Event{Count: 10}), alive)
	race := history.Op{Kind: kv.CAS, Session: 9, Key: leaderKey, Written: keys.Identity(1), Outcome: kv.Conflict, Read: history.UnknownValue, Expected: history.UnknownRevision}
	storetest.CheckOps(t, "race, lost", r.ended(Race, 0, store.Event{Outcome: kv.Conflict}), race)
	race.Outcome, race.Read, race.Expected = kv.OK, 0, 0
	storetest.CheckOps(t, "race, won", r.ended(Race, 0, store.Event{}), race)
	r.c.lists.Begin(0)
	r.c.lists.Add(0, r.AppendKey(nil, leaderKey)[1:], AppendName(nil, 1, 1), 40)
	got := r.ended(ReadCluster, 0, store.Event{Count: 1})
	if len(got) != 8 {
		t.Fatalf("records of a cluster: %+v", got)
	}
	storetest.CheckOps(t, "the leader's key", got[2:3], history.Op{Kind: kv.Range, Consistency: kv.LeaderLease, ContinuesPrevious: true, Session: 9, Key: leaderKey, Read: keys.Identity(1), ModRevision: 40})
	// A leader that was just elected may not know the cluster's keys yet.
	got = r.ended(ReadCluster, 0, store.Event{})
	if len(got) != 8 {
		t.Fatalf("records of an empty response: %+v", got)
	}
	storetest.CheckOps(t, "nothing", got[:1], history.Op{Kind: kv.Range, Consistency: kv.LeaderLease, Session: 9, Key: 8, Outcome: kv.Stale})
}

// On ZooKeeper, keys are bound to the sessions of connections. If a connection was lost, its keys
// may have been deleted at any time since they were created. If a session was closed, its keys may
// have been deleted at any time since the close.
func TestRecordsCallsWithNodes(t *testing.T) {
	r := record(t, Nodes)
	join := history.Op{Kind: kv.CAS, Session: 9, Key: ownKey, Written: keys.Identity(r.first(Join, 0)), Revision: 50}
	storetest.CheckOps(t, "joined", r.ended(Join, 0, store.Event{StoreRevision: 50}), join)
	lead := history.Op{Kind: kv.CAS, Session: 9, Key: leaderKey, Written: identity0, Revision: 51}
	storetest.CheckOps(t, "leads", r.ended(Lead, 0, store.Event{StoreRevision: 51}), lead)
	read := history.Op{Kind: kv.Get, Consistency: kv.Local, Session: 9, Key: leaderKey, Revision: 60, ModRevision: 51, Read: identity0}
	storetest.CheckOps(t, "read", r.ended(ReadKey, Leader, store.Event{StoreRevision: 60, ModRevision: 51, Revision: 1, Value: AppendName(nil, 1, 0)}), read)
	read.ModRevision, read.Read, read.Outcome = 0, history.Absent, kv.Miss
	storetest.CheckOps(t, "missing", r.ended(ReadKey, Leader, store.Event{StoreRevision: 60, Outcome: kv.Miss}), read)
	r.c.lists.Begin(0)
	r.c.lists.Add(0, AppendName(nil, 1, 0), nil, 0)
	r.c.lists.Add(0, AppendName(nil, 2, 1), nil, 0)
	r.c.lists.Begin(1) // the response to a different operation, which arrived at the same time
	r.c.lists.Add(1, AppendName(nil, 1, 1), nil, 0)
	there := history.Op{Kind: kv.Exists, Consistency: kv.Local, Session: 9, Key: ownKey, Revision: 61, Read: history.UnknownValue}
	not := there
	not.Key, not.Read, not.ContinuesPrevious = ownKey+1, history.Absent, true
	last := not
	last.Key++
	storetest.CheckOps(t, "members", r.ended(ListKeys, FirstMember, store.Event{StoreRevision: 61, Count: 2}), there, not, last)
	if got := r.ended(RenewLeader, 0, store.Event{StoreRevision: 62, Count: 15}); len(got) > 0 || r.c.sessionTTL != int64(15*time.Second) {
		t.Errorf("records of a ping: %+v; the session timeout is %v", got, time.Duration(r.c.sessionTTL))
	}
	put := history.Op{Kind: kv.Put, Session: 9, Key: ownKey, Written: keys.Identity(r.first(PutMember, 0)), Revision: 63, Expected: history.UnknownRevision}
	storetest.CheckOps(t, "put", r.ended(PutMember, 0, store.Event{StoreRevision: 63}), put)
	place := r.ConnectionIndex(r.first(PutMember, 0))
	r.ConnectionLost(place)
	storetest.CheckOps(t, "lost", r.to.Since(), gone(ownKey, 3, 100, 200), gone(leaderKey, 3, 100, 200))
	r.ConnectionLost(place)
	r.SessionExpired(place)
	storetest.CheckOps(t, "again", r.to.Since())
	// The write to a node that does not exist is refused, and the next write creates the node.
	put.Outcome, put.Read, put.Revision = kv.Conflict, history.Absent, 70
	storetest.CheckOps(t, "refused", r.ended(PutMember, 0, store.Event{StoreRevision: 70, Outcome: kv.Conflict}), put)
	join.Written, join.Revision = put.Written, 71
	storetest.CheckOps(t, "made", r.endedAt(r.first(PutMember, 0), store.Event{StoreRevision: 71}, 300, 400), timed(join, 300, 400))
	r.c.LoadEnded(500)
	storetest.CheckOps(t, "closed", r.to.Since(), gone(ownKey, 3, 500, 500))
	// A node from an earlier load may be deleted when its session ends.
	r = record(t, Nodes)
	join.Written, join.Revision, join.Outcome, join.Read = keys.Identity(r.first(Join, 0)), 72, kv.Conflict, history.UnknownValue
	storetest.CheckOps(t, "existing", r.ended(Join, 0, store.Event{StoreRevision: 72, Outcome: kv.Conflict}), gone(ownKey, 0, 100, 200), join)
	read.Outcome, read.ModRevision, read.Read = kv.OK, 12, identity0
	storetest.CheckOps(t, "an earlier load's", r.ended(ReadKey, Leader, store.Event{StoreRevision: 60, ModRevision: 12, Revision: 1, Value: AppendName(nil, 1, 0)}), gone(leaderKey, 0, 100, 200), read)
	// No member reads the key before the watchers report its deletion. The deletion has revision
	// 12. If this load did not create its own key (0) or created it later (13), the deleted key was
	// from an earlier load. Otherwise (12), it was this load's own key.
	for made, want := range map[int64][]history.Op{0: {gone(leaderKey, 0, 0, 300)}, 13: {gone(leaderKey, 0, 100, 300)}, 12: nil} {
		r = record(t, Nodes)
		if made > 0 {
			r.ended(Lead, 0, store.Event{StoreRevision: made})
		}
		r.c.WatchEvent(4, &store.Event{Type: store.WatchChange, Key: r.AppendKey(nil, leaderKey), Revision: 12, StoreRevision: 12}, 0, 0, 300)
		deleted := history.Op{Kind: kv.Watch, Watch: history.KeyChanged, Session: 4, Key: leaderKey, ModRevision: 12, Revision: 12, Invoked: 300, Done: 300}
		storetest.CheckOps(t, "the end of an earlier load's", r.to.Since(), append(want, deleted)...)
	}
}

// If a response confirms that a session was closed, the keys that the session created were deleted.
// The record contains the latest version of such a key that a response has confirmed. The last call
// that set the key wrote this version.
func TestRecordsKeysThatEndWithASession(t *testing.T) {
	var r *recordedLoad
	joined := func() {
		r = record(t, Nodes)
		r.ended(Join, 0, store.Event{StoreRevision: 50})
	}
	put := func(ev store.Event) uint64 {
		n := r.first(PutMember, 0)
		r.endedAt(n, ev, 300, 400)
		return n
	}
	closed := func(n uint64, made int64) []history.Op {
		// The first member's key.
		r.c.SessionEnded(n, &history.Op{Kind: kv.Ephemeral, Session: 9, Invoked: 500, Done: 600, Revision: 90, ModRevision: made})
		return r.to.Since()
	}
	ended := func(key uint64, value, version int64) history.Op {
		return history.Op{Kind: kv.Ephemeral, Session: 9, Key: key, Written: uint64(value), ModRevision: version, Invoked: 500, Done: 600, Revision: 90}
	}
	joined()
	join := r.first(Join, 0)
	own := func(n uint64, version int64) history.Op {
		return ended(ownKey, int64(keys.Identity(n)), version)
	}
	storetest.CheckOps(t, "as created", closed(join, 50), own(join, 50))
	n := put(store.Event{StoreRevision: 63})
	storetest.CheckOps(t, "set since", closed(join, 50), own(n, 63))
	storetest.CheckOps(t, "of another session", closed(join, 40))
	put(store.Event{Outcome: kv.TimedOut})
	storetest.CheckOps(t, "set without a response", closed(join, 50), own(n, 63))
	r.ConnectionLost(r.ConnectionIndex(n)) // the session may continue
	r.to.Since()
	storetest.CheckOps(t, "set, and lost", closed(join, 50), own(n, 63))
	put(store.Event{StoreRevision: 70, Outcome: kv.Conflict})
	storetest.CheckOps(t, "found gone", closed(join, 50))
	put(store.Event{StoreRevision: 71})
	storetest.CheckOps(t, "gone, and created again", closed(n, 50))
	storetest.CheckOps(t, "created again", closed(n, 71), own(n, 71))
	put(store.Event{StoreRevision: 72})
	storetest.CheckOps(t, "created again, and set", closed(n, 71), own(n, 72))
	r.SessionExpired(r.ConnectionIndex(n))
	r.to.Since()
	storetest.CheckOps(t, "of an expired session", closed(n, 71))
	put(store.Event{StoreRevision: 73}) // sets the node that belongs to the session that will end next
	storetest.CheckOps(t, "set by another session", closed(n, 71))

	r.ended(Lead, 0, store.Event{StoreRevision: 51})
	storetest.CheckOps(t, "of the leader", closed(r.first(Lead, 0), 51), ended(leaderKey, identity0, 51))

	// If the call that created a node has no response, the node may belong to an earlier load.
	r = record(t, Nodes)
	r.ended(Join, 0, store.Event{Outcome: kv.TimedOut})
	put(store.Event{StoreRevision: 63})
	storetest.CheckOps(t, "possibly created", closed(join, 50))
	// The same is true if the node was set at a time when a different node may have been created.
	joined()
	put(store.Event{StoreRevision: 62, Outcome: kv.Conflict})
	put(store.Event{Outcome: kv.TimedOut})
	put(store.Event{StoreRevision: 63})
	storetest.CheckOps(t, "possibly created again", closed(join, 50), own(join, 50))
}

// Watch events are recorded with the numbers of their keys. A damaged value is not matched with any
// write.
func TestRecordsWatchEvents(t *testing.T) {
	r := record(t, Leases)
	tellIt := func(key, value []byte) []history.Op {
		r.c.WatchEvent(4, &store.Event{Type: store.WatchChange, Key: key, Value: value, Version: 3, Revision: 60, StoreRevision: 60}, 0, 0, 300)
		return r.to.Since()
	}
	status := AppendStatus(nil, 1, 3, 7)
	event := history.Op{Kind: kv.Watch, Watch: history.KeyChanged, Session: 4, Key: statusKey, ModRevision: 60, Revision: 60, Read: keys.Identity(7), Invoked: 300, Done: 300}
	storetest.CheckOps(t, "status", tellIt(r.AppendKey(nil, statusKey), status), event)
	status[len(status)-4]++
	event.Read = keys.NoIdentity
	storetest.CheckOps(t, "damaged", tellIt(r.AppendKey(nil, statusKey), status), event)
	past := event
	past.Key, past.Read = 8+uint64(History), keys.Identity(9)
	storetest.CheckOps(t, "history", tellIt(r.AppendKey(nil, past.Key), AppendHistory(nil, 1, 2, 9)), past)
	if got := tellIt([]byte("/service/pg-000001/failover"), nil); len(got) > 0 {
		t.Errorf("records of a key that another program left: %+v", got)
	}
	if got := tellIt([]byte("/service/pg-000099/leader"), nil); len(got) != 1 || got[0].Outcome != kv.WrongResponse {
		t.Errorf("records of a key that is not watched: %+v", got)
	}
	for _, value := range []string{"", "pg-000002-1", "pg-000001-3", "pg-000001"} {
		if got := r.c.identity(leaderKey, []byte(value)); got != keys.NoIdentity {
			t.Errorf("the identity of a leader named %q is %d", value, got)
		}
	}
	for _, k := range []Key{Initialize, ConfigKey, Status, History, FirstMember} {
		if got := r.c.identity(uint64(k), []byte("x")); got != keys.NoIdentity {
			t.Errorf("the identity of a damaged value of key %d is %d", k, got)
		}
	}
	r.c.Read(ownKey, &store.Event{Value: AppendMember(nil, 0, false, 5), Revision: 40}, &history.Op{Kind: kv.Get, Revision: 60, Final: true, Done: 400})
	storetest.CheckOps(t, "read after the load", r.to.Since(), timed(history.Op{Kind: kv.Get, Key: ownKey, Done: 400, Revision: 60, Final: true, Read: keys.Identity(5), ModRevision: 40}, 0, 400))
}

// Recording allocates no memory.
func TestRecordingDoesNotAllocate(t *testing.T) {
	for _, way := range []Way{Leases, Locks, Nodes} {
		r := record(t, way)
		block := history.NewBlock()
		r.to.Deliver, r.to.Take = (*history.Block).Reset, func() *history.Block { return block }
		var op store.Op
		var ev store.Event
		var o history.Op
		all := func() {
			for n, e := range r.schedule.Entries {
				ref := r.Fill(measure.Measured, uint64(n), 0, &op)
				number := r.keyNumber(int(e.Cluster), Status)
				r.key = r.AppendKey(r.key[:0], number)
				r.value = AppendStatus(r.value[:0], int(e.Cluster), 3, uint64(n))
				if op.Range != nil {
					op.Range.Keys.Begin(0)
					op.Range.Keys.Add(0, r.key, r.value, 40)
				}
				ev = store.Event{StoreRevision: 50, Revision: 40, ModRevision: 40, Count: 1, Value: r.value}
				o = history.Op{Kind: op.Kind, Consistency: op.Consistency}
				r.c.OperationEnded(&engine.Completion{Phase: measure.Measured, N: uint64(n), Ref: ref, Expected: op.Revision, Event: &ev, Op: &o})
				ev = store.Event{Type: store.WatchChange, Key: r.key, Value: r.value, Version: 1, Revision: 50, StoreRevision: 50}
				r.c.WatchEvent(uint32(n)%4, &ev, 0, 0, 5)
				r.ConnectionLost(n % r.MemberCount())
				o = history.Op{Kind: kv.Ephemeral, Revision: 60, ModRevision: 50}
				r.c.SessionEnded(ref, &o)
			}
		}
		all()
		if got := testing.AllocsPerRun(2, all); got != 0 {
			t.Errorf("%v allocations in %d calls of way %d", got, len(r.schedule.Entries), way)
		}
	}
}
