package election

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// recordedLoad is a load whose history is recorded.
type recordedLoad struct {
	*scripted
	c  *chronicle
	to *storetest.Recording
}

func record(t *testing.T, app Application, way int) *recordedLoad {
	r := &recordedLoad{scripted: newScripted(t, app, way)}
	r.to = storetest.NewRecording(t)
	r.c = r.NewKeyRecorder(&r.to.Recorder).(*chronicle)
	return r
}

// ended records a candidate's call with the given response. The call is invoked at time 100 and
// done at time 200. ended returns the operations that the chronicle recorded.
func (r *recordedLoad) ended(of int, call Call, asks callState, ev store.Event) []history.Op {
	return r.endedAt(of, call, asks, ev, 100, 200)
}

func (r *recordedLoad) endedAt(of int, call Call, asks callState, ev store.Event, from, to int64) []history.Op {
	r.candidates[of].stateAtCall = asks
	shape := &r.way.Shapes[call]
	o := history.Op{Kind: shape.Kind, Consistency: shape.Level, Outcome: ev.Outcome, Session: uint32(of), Invoked: from, Done: to}
	r.c.OperationEnded(&engine.Completion{Phase: measure.Measured, Ref: encodeReference(of, call), Expected: asks.lease, Event: &ev, Op: &o})
	return r.to.Since()
}

func (r *recordedLoad) name(of int) []byte { return AppendCandidate(nil, of, r.source.run) }

// valueOf returns the identity of a value that a candidate writes.
func valueOf(of, which uint64) uint64 { return which<<candidateBits | of }

// of is the number of a candidate for office 1. Each office has 4 candidates.
const of = 6

// The calls in a race for a node are recorded as operations that the verifier supports.
func TestRecordsARaceForANode(t *testing.T) {
	r := record(t, Application{}, 0)
	stood := history.Op{Kind: kv.CAS, Session: of, Key: 1, Written: valueOf(of, 1), Revision: 50}
	storetest.CheckOps(t, "stood", r.ended(of, Stand, callState{}, store.Event{StoreRevision: 50}), stood)
	refused := stood
	refused.Outcome, refused.Read = kv.Conflict, history.UnknownValue
	storetest.CheckOps(t, "refused", r.ended(of, Stand, callState{}, store.Event{StoreRevision: 50, Outcome: kv.Conflict}), refused)
	gone := history.Op{Kind: kv.Delete, Session: of, Key: 1, Revision: 60}
	storetest.CheckOps(t, "resigned", r.ended(of, Resign, callState{wasLeader: true}, store.Event{StoreRevision: 60}), gone)
	gone.Outcome = kv.Miss
	storetest.CheckOps(t, "nothing to remove", r.ended(of, Resign, callState{wasLeader: true}, store.Event{StoreRevision: 60, Outcome: kv.Conflict}), gone)
	read := history.Op{Kind: kv.Get, Consistency: kv.Local, Session: of, Key: 1, Revision: 70, ModRevision: 65, Read: valueOf(5, 1)}
	storetest.CheckOps(t, "not the leader", r.ended(of, Resign, callState{}, store.Event{StoreRevision: 70, ModRevision: 65, Value: r.name(5)}), read)
	began := history.Op{Kind: kv.Watch, Watch: history.WatchStarted, Key: 1, Written: 1, Revision: 70, ContinuesPrevious: true}
	storetest.CheckOps(t, "waits", r.ended(of, Await, callState{}, store.Event{StoreRevision: 70, ModRevision: 65, Value: r.name(5)}), read, began)
	// A response on the same session shows that the watch has delivered all earlier changes.
	reached := history.Op{Kind: kv.Watch, Watch: history.ProgressReached, Key: 1, ModRevision: 80, Invoked: 200, Done: 200}
	storetest.CheckOps(t, "pinged", r.ended(of, Renew, callState{}, store.Event{StoreRevision: 80}), reached)
	r.c.WatchEvent(of, &store.Event{Type: store.WatchChange, Watcher: of, Key: []byte("/x"), Revision: 90, StoreRevision: 90}, 0, 0, 300)
	storetest.CheckOps(t, "told", r.to.Since(), history.Op{Kind: kv.Watch, Watch: history.KeyChanged, Key: 1, ModRevision: 90, Revision: 90, Invoked: 300, Done: 300})
	if got := r.ended(of, Renew, callState{}, store.Event{StoreRevision: 95}); len(got) > 0 {
		t.Errorf("records of a watch after its event: %+v", got)
	}
	// The response to the candidate's own write does not show that the watch has delivered the
	// event for this write.
	r.ended(of, Await, callState{}, store.Event{StoreRevision: 96, ModRevision: 65, Value: r.name(5)})
	if got := r.ended(of, Stand, callState{}, store.Event{StoreRevision: 99}); len(got) != 2 || got[1].Watch != history.ProgressReached || got[1].ModRevision != 98 {
		t.Errorf("records of a write: %+v", got)
	}
	r.ConnectionLost(of)
	if got := r.ended(of, Stand, callState{}, store.Event{StoreRevision: 99}); len(got) != 1 {
		t.Errorf("records after the loss of the connection: %+v", got)
	}
	if got := r.c.identity([]byte("damaged")); got != foreignValue {
		t.Errorf("the identity of a damaged value is %d", got)
	}
}

// The end of a session is recorded, once per node, as a delete that may have been executed. If the
// connection was lost, the delete may have been executed at any time since the node was created. If
// the session was closed, the delete may have been executed at any time since the close.
func TestRecordsSessionEnds(t *testing.T) {
	gone := func(from, now int64) history.Op {
		return history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: of, Key: 1, Invoked: from, Done: now}
	}
	standing := func() *recordedLoad {
		r := record(t, Application{}, 0)
		r.ended(of, Stand, callState{}, store.Event{StoreRevision: 50})
		return r
	}
	ref := encodeReference(of, Stand)
	r := standing()
	r.c.KeyMayBeDeleted(ref, of, 100, 500)
	r.c.KeyMayBeDeleted(ref, of, 100, 500)
	storetest.CheckOps(t, "lost", r.to.Since(), gone(100, 500))
	r = standing()
	r.c.KeyMayBeDeleted(ref, of, 500, 500)
	storetest.CheckOps(t, "closed", r.to.Since(), gone(500, 500))
	r = standing()
	r.candidates[of].dead = true
	r.c.KeyMayBeDeleted(ref, of, 500, 500)
	storetest.CheckOps(t, "dead", r.to.Since(), gone(100, 500))
	r = standing()
	r.ended(of, Resign, callState{wasLeader: true}, store.Event{StoreRevision: 60})
	r.c.KeyMayBeDeleted(ref, of, 100, 500)
	storetest.CheckOps(t, "resigned", r.to.Since())
	// If the response confirms that a session was closed, the node that existed at that time was
	// deleted.
	end := history.Op{Kind: kv.Ephemeral, Session: of, Invoked: 500, Done: 600, Revision: 90, ModRevision: 50}
	ended := end
	ended.Key, ended.Written = 1, valueOf(of, 1)
	closed := func(made int64) []history.Op {
		o := end
		o.ModRevision = made
		r.c.SessionEnded(ref, &o)
		return r.to.Since()
	}
	r = standing()
	storetest.CheckOps(t, "closed with a response", closed(50), ended)
	storetest.CheckOps(t, "closed after another node", closed(40))
	r.ended(of, Resign, callState{wasLeader: true}, store.Event{StoreRevision: 60})
	storetest.CheckOps(t, "resigned, and closed", closed(50))
	r = standing()
	r.SessionExpired(of)
	storetest.CheckOps(t, "expired", r.to.Since(), gone(100, 200))
	// The store may still execute a create that has no response.
	r = record(t, Application{}, 0)
	r.ended(of, Stand, callState{}, store.Event{Outcome: kv.TimedOut})
	r.ended(of, Resign, callState{wasLeader: true}, store.Event{StoreRevision: 60})
	r.c.KeyMayBeDeleted(ref, of, 100, 500)
	storetest.CheckOps(t, "possibly created", r.to.Since(), gone(100, 500))
	// A node from an earlier run is deleted when the session of that run ends. This load does not
	// know when that happens.
	r = record(t, Application{}, 0)
	for i := range 2 {
		r.ConnectionLost(of)
		got := r.ended(of, Await, callState{}, store.Event{StoreRevision: 70, ModRevision: 65, Value: AppendCandidate(nil, of, r.source.run+1)})
		if len(got) != 3-i || got[1-i].Read != foreignValue || got[0].Indefinite() != (i == 0) {
			t.Errorf("records of the node of an earlier run: %+v", got)
		}
	}
}

// A listing of a sequential queue is recorded as a read of each node in the list, and of each known
// node that is missing from the list. A node that was created by a call without a response is
// recorded when a response contains the node.
func TestRecordsAQueueOfNodes(t *testing.T) {
	r := record(t, Application{Queue: true}, 0)
	key := func(order uint64) uint64 { return 1<<nodeShift | order }
	made := func(c int, order int64) []byte {
		r.setNodeKey(c, r.source.run, order)
		return r.key
	}
	storetest.CheckOps(t, "stood", r.ended(of, Stand, callState{}, store.Event{StoreRevision: 50, Key: made(of, 8)}),
		history.Op{Kind: kv.CAS, Session: of, Key: key(8), Written: valueOf(of, 1), Revision: 50})
	r.ended(7, Stand, callState{}, store.Event{StoreRevision: 51, Key: made(7, 9)})
	list := func(of ...int64) []history.Op {
		h := r.recipe.(*ephemeralQueue).names
		h.Begin(0)
		for i := 0; i < len(of); i += 2 {
			h.Add(0, made(int(of[i]), of[i+1])[len("p/e000001/"):], nil, 0)
		}
		return r.ended(7, Look, callState{}, store.Event{StoreRevision: 60})
	}
	part := history.Op{Kind: kv.Range, Consistency: kv.Local, Session: 7, Key: key(9), Read: valueOf(7, 1), Revision: 60}
	second := part
	second.Key, second.Read, second.ContinuesPrevious = key(8), history.Absent, true
	storetest.CheckOps(t, "a list without one", list(7, 9), part, second)
	if got := r.ended(5, Stand, callState{}, store.Event{Outcome: kv.TimedOut}); len(got) > 0 {
		t.Errorf("records of a node without a number: %+v", got)
	}
	got := list(5, 12, 7, 9, of, 8)
	if len(got) != 5 || got[0].Kind != kv.CAS || !got[0].Indefinite() || got[0].Key != key(12) || got[0].Written != valueOf(5, 1) || !got[1].Indefinite() || got[1].Kind != kv.Delete {
		t.Errorf("records of an unknown node: %+v", got)
	}
	if got = list(5, 12, 7, 9, of, 8); len(got) != 3 {
		t.Errorf("records of the second list: %+v", got)
	}
	// The list contained the node before the call that created the node timed out.
	list(4, 13, 7, 9, of, 8)
	if got = r.ended(4, Stand, callState{}, store.Event{Outcome: kv.TimedOut}); len(got) != 2 || got[0].Key != key(13) {
		t.Errorf("records of a node that was listed before: %+v", got)
	}
	// If an outdated list does not contain a candidate's node, the candidate creates a second node.
	// Both nodes are deleted when the session ends.
	r.ended(of, Stand, callState{}, store.Event{StoreRevision: 80, Key: made(of, 20)})
	r.c.KeyMayBeDeleted(encodeReference(of, Stand), of, 100, 500)
	if got = r.to.Since(); len(got) != 2 || got[0].Key != key(8) || got[1].Key != key(20) {
		t.Errorf("records of two nodes: %+v", got)
	}
	r.c.KeyMayBeDeleted(encodeReference(of, Stand), of, 100, 600)
	for made, order := range map[int64]uint64{50: 8, 80: 20} {
		r.c.SessionEnded(encodeReference(of, Stand), &history.Op{Kind: kv.Ephemeral, Session: of, Invoked: 600, Done: 700, Revision: 90, ModRevision: made})
		storetest.CheckOps(t, "closed with a response", r.to.Since(), timed(history.Op{Kind: kv.Ephemeral, Session: of, Key: key(order), Written: valueOf(of, 1), Revision: 90, ModRevision: made}, 600, 700))
	}
	storetest.CheckOps(t, "a removal", r.ended(of, Drop, callState{precedingNumber: 8}, store.Event{StoreRevision: 90, Outcome: kv.Conflict}),
		timed(history.Op{Kind: kv.Delete, Outcome: kv.Miss, Session: of, Key: key(8), Revision: 90}, 100, 700))
}

// A key that is bound to a lease may have been deleted at any time since the earliest end of the
// lease. When the lease is found to have ended, the key is certain to have been deleted.
func TestRecordsElectionsByLeases(t *testing.T) {
	const lease = of + 1 // the initial lease that the script gives to the candidate `of`
	r := record(t, Application{Queue: true}, 1)
	stood := history.Op{Kind: kv.CAS, Session: of, Key: of, Written: valueOf(of, 1), Revision: 50}
	storetest.CheckOps(t, "stood", r.ended(of, Stand, callState{lease: lease}, store.Event{StoreRevision: 50}), stood)
	stood.Outcome, stood.ModRevision, stood.Read = kv.Conflict, 45, valueOf(of, 1)
	storetest.CheckOps(t, "refused", r.ended(of, Stand, callState{lease: lease}, store.Event{StoreRevision: 50, Outcome: kv.Conflict, ModRevision: 45, Value: r.name(of)}), stood)
	storetest.CheckOps(t, "looked", r.ended(of, Look, callState{ownNumber: 50}, store.Event{StoreRevision: 60, Revision: 44, Key: appendLeaseKey(nil, "p/", 1, 6), Value: r.name(5)}),
		history.Op{Kind: kv.Range, Consistency: kv.Linearizable, Session: of, Key: 5, Revision: 60, ModRevision: 44, Read: valueOf(5, 1)})
	storetest.CheckOps(t, "no candidate before", r.ended(of, Look, callState{ownNumber: 50}, store.Event{StoreRevision: 60}))
	storetest.CheckOps(t, "waits", r.ended(of, Await, callState{precedingNumber: 6, watchStart: 60}, store.Event{StoreRevision: 61}),
		history.Op{Kind: kv.Watch, Watch: history.WatchStarted, Key: 5, Written: 1, ModRevision: 60, Revision: 61})
	r.c.WatchEvent(of, &store.Event{Type: store.WatchChange, Watcher: of, Key: appendLeaseKey(nil, "p/", 1, 5), Revision: 90, StoreRevision: 90}, 0, 0, 300)
	if got := r.to.Since(); len(got) != 1 || got[0].Outcome != kv.WrongResponse {
		t.Errorf("records of the event of another key: %+v", got)
	}
	gone := history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: of, Key: of}
	alive := history.Op{Kind: kv.KeepAlive, Session: of, Written: lease, ModRevision: 60, Revision: 70}
	storetest.CheckOps(t, "renewed", r.ended(of, Renew, callState{lease: lease}, store.Event{StoreRevision: 70, Count: 60}), timed(alive, 100, 300))
	until := 100 + r.sessionTTL
	later := r.endedAt(7, Look, callState{}, store.Event{StoreRevision: 99}, until+1, until+2)
	gone.Invoked, gone.Done = until, until+2
	storetest.CheckOps(t, "its lease may have ended", later, gone)
	alive.Outcome, alive.ModRevision, alive.Invoked, alive.Done = kv.BadRequest, 0, until+5, until+6
	storetest.CheckOps(t, "found gone", r.endedAt(of, Renew, callState{lease: lease}, store.Event{StoreRevision: 70, Outcome: kv.BadRequest}, until+5, until+6), alive)
	// The revision at which the lease ended is unknown, but is lower than the revision of a lease
	// that was requested afterwards. A key with a new lease has a different name, and may be
	// deleted after the load.
	r.leases[of] = 77
	nothing := history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Session: of, Key: of, Revision: 80}
	granted := history.Op{Kind: kv.KeepAlive, Session: of, Written: 77, ModRevision: r.sessionTTL / 1e9, Revision: 80}
	storetest.CheckOps(t, "granted", r.endedAt(of, Renew, callState{}, store.Event{StoreRevision: 80, Count: 77}, until+6, until+7), timed(nothing, until+6, until+7), timed(granted, until+6, until+7))
	if got := r.ended(of, Stand, callState{lease: 77}, store.Event{StoreRevision: 82}); len(got) != 1 || got[0].Key != uint64(r.CandidateCount()) {
		t.Errorf("records of another lease: %+v", got)
	}
	r.c.LoadEnded(until + 9)
	gone.Key, gone.Invoked, gone.Done = uint64(r.CandidateCount()), until+9, until+9
	if got := r.to.Since(); len(got) != 1 || got[0].Kind != kv.Delete || got[0].Key != gone.Key {
		t.Errorf("records at the end: %+v", got)
	}
	// If a lease was requested before the previous lease was found to have ended, the response does
	// not show that the previous key was deleted.
	r.ended(5, Stand, callState{lease: of}, store.Event{StoreRevision: 83})
	r.endedAt(5, Renew, callState{lease: of}, store.Event{StoreRevision: 84, Outcome: kv.BadRequest}, 100, 200)
	r.leases[5] = 78
	if got := r.endedAt(5, Renew, callState{}, store.Event{StoreRevision: 85, Count: 78}, 199, 201); len(got) != 1 {
		t.Errorf("records of a lease requested before the previous one was found gone: %+v", got)
	}
	removed := history.Op{Kind: kv.Delete, Session: of, Key: of, Revision: 90, Expected: 45}
	storetest.CheckOps(t, "resigned", r.endedAt(of, Resign, callState{lease: lease, ownNumber: 45}, store.Event{StoreRevision: 90}, until+10, until+11), timed(removed, until+10, until+11))
}

func timed(o history.Op, from, to int64) history.Op {
	o.Invoked, o.Done = from, to
	return o
}

// A leader that has a lease has a hold with a fencing token until it gives up the office. The
// election of a second leader does not end the first leader's hold.
func TestRecordsHolds(t *testing.T) {
	r := record(t, Application{}, 1)
	stand := func(c int, created int64) []history.Op {
		r.candidates[c].ownNumber, r.offices[1].leader = created, int32(c)
		return r.ended(c, Stand, callState{lease: int64(c) + 1}, store.Event{StoreRevision: created})
	}
	grant := history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: of, Key: 1, Written: of + 1, ModRevision: 50}
	got := stand(of, 50)
	storetest.CheckOps(t, "leads", got[1:], grant)
	if got = stand(of, 50); len(got) != 1 {
		t.Errorf("records of a leader that stands again: %+v", got)
	}
	r.replacedLeader = of
	got = stand(7, 60)
	freed := grant
	freed.LockChange = history.Released
	storetest.CheckOps(t, "another leads", got[1:],
		history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: 7, Key: 1, Written: 8, ModRevision: 60}, timed(freed, 201, 201))
	if got = r.ended(7, Resign, callState{lease: 8, ownNumber: 60}, store.Event{Outcome: kv.TimedOut}); len(got) != 2 || got[0].LockChange != history.Released || got[0].ModRevision != 60 {
		t.Errorf("records of a resignation without a response: %+v", got)
	}
}

// The calls that acquire and release a lock write the lock's key. The key's revision identifies the
// write only while a session holds the lock.
func TestRecordsSessionLocks(t *testing.T) {
	r := record(t, Application{}, 2)
	r.storeLease(of, &store.Event{Value: []byte("f0e1d2c3-0000-4a5b-8c7d-00ff1234abcd")})
	r.c.candidates[of].lease.ID = r.leases[of]
	lease := uint64(r.leases[of])
	written := func(which uint32) []byte { return AppendCandidate(nil, of, r.source.run+which) }
	wrote := history.Op{Kind: kv.CAS, Session: of, Key: 1, Written: valueOf(of, 3), Expected: history.UnknownRevision}
	storetest.CheckOps(t, "acquired", r.ended(of, Stand, callState{nameNumber: 3}, store.Event{}), wrote)
	refused := wrote
	refused.Outcome, refused.Read = kv.Conflict, history.UnknownValue
	storetest.CheckOps(t, "not acquired", r.ended(of, Stand, callState{nameNumber: 3}, store.Event{Outcome: kv.Conflict}), refused)
	r.offices[1].leader = of
	read := history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Session: of, Key: 1, ModRevision: 40, Read: valueOf(of, 3)}
	hold := history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: of, Key: 1, Written: lease, ModRevision: 2}
	held := store.Event{Revision: 40, Value: written(3), PreviousValue: []byte("f0e1d2c3-0000-4a5b-8c7d-00ff1234abcd"), PreviousRevision: 2}
	storetest.CheckOps(t, "its own", r.ended(of, Look, callState{}, held), read, hold)
	wrote.Written, hold.LockChange = valueOf(of, 4), history.Released
	storetest.CheckOps(t, "released", r.ended(of, Resign, callState{nameNumber: 4}, store.Event{}), hold, wrote)
	read.ModRevision, read.Read = 0, valueOf(of, 4)
	storetest.CheckOps(t, "without a holder", r.ended(of, Look, callState{}, store.Event{Revision: 50, Value: written(4)}), read)
	// A release without a response may end a later hold.
	r.ended(of, Resign, callState{nameNumber: 5}, store.Event{Outcome: kv.TimedOut})
	if got := r.ended(of, Look, callState{}, held); len(got) != 1 {
		t.Errorf("records of a hold that may end: %+v", got)
	}
	r.ended(of, Await, callState{}, store.Event{})
	key := r.AppendKey(nil, 1)
	tellIt := func(holder []byte) []history.Op {
		r.to.Since()
		r.c.WatchEvent(of, &store.Event{Type: store.WatchChange, Watcher: of, Key: key, Revision: 60, Version: 1, Value: written(6), PreviousValue: holder}, 0, 0, 300)
		return r.to.Since()
	}
	if got := tellIt(nil); len(got) > 0 {
		t.Errorf("records of a lock without a holder: %+v", got)
	}
	storetest.CheckOps(t, "told", tellIt(held.PreviousValue), history.Op{Kind: kv.Watch, Watch: history.KeyChanged, Key: 1, ModRevision: 60, Read: valueOf(of, 6), Invoked: 300, Done: 300})
}

// When the keys are read after the load, the values that this run wrote are recognized.
func TestKeepsTheRunNumber(t *testing.T) {
	r := record(t, Application{}, 0)
	kept := r.PreloadResults()
	if got := kept[len(kept)-1]; got != int64(r.source.run) {
		t.Errorf("the script keeps the run number %d", got)
	}
}

// After the load, each office of a sequential queue is listed, and each node from this run is
// recorded as a read. Several lists may arrive before the first list is handled.
func TestReadsAQueueOfNodesBack(t *testing.T) {
	r := record(t, Application{Queue: true}, 0)
	if got := r.Keys(); got != uint64(r.Offices) {
		t.Fatalf("Keys returned %d, want one list for each of %d offices", got, r.Offices)
	}
	name := func(c int, run uint32, order int64) []byte {
		r.setNodeKey(c, run, order)
		return bytes.Clone(r.key[len("p/e000001/"):])
	}
	var op store.Op
	for tag, list := range [][][]byte{{name(of, r.source.run, 8), name(5, r.source.run+1, 9), name(7, r.source.run, 12)}, {name(1, r.source.run+1, 3)}, {}} {
		r.MakeRead(uint64(1-min(tag, 1)), &op)
		if tag == 0 && string(op.Call.Parts[0].Key) != "p/e000001/" || op.Range.Keys.Begin(uint32(tag)) {
			t.Fatalf("the nodes of an office are listed by %+v", op.Call)
		}
		for i := range list {
			op.Range.Keys.Add(uint32(tag), list[i], nil, 0)
		}
	}
	read := func(tag uint32, office uint64, outcome kv.Outcome) []history.Op {
		o := history.Op{Kind: kv.Range, Consistency: kv.Local, Outcome: outcome, Final: true, Revision: 90, Invoked: 100, Done: 200}
		r.c.Read(office, &store.Event{Tag: tag, Outcome: outcome}, &o)
		return r.to.Since()
	}
	first := history.Op{Kind: kv.Get, Consistency: kv.Local, Final: true, Key: 1<<nodeShift | 8, Read: valueOf(of, 1), Revision: 90}
	second := first
	second.Key, second.Read, second.ContinuesPrevious = 1<<nodeShift|12, valueOf(7, 1), true
	storetest.CheckOps(t, "two are there", read(0, 1, kv.OK), first, second)
	storetest.CheckOps(t, "one of an earlier run", read(1, 0, kv.OK))
	storetest.CheckOps(t, "there is no office", read(0, 1, kv.Miss))
	for tag, want := range []bool{true, false, false, false} {
		if got := r.Exists(&store.Event{Tag: uint32(tag)}); got != want {
			t.Errorf("list %d: Exists returned %v", tag, got)
		}
	}
	race := record(t, Application{}, 0)
	op = store.Op{Kind: kv.Get, Consistency: kv.Linearizable, Key: race.AppendKey(nil, 1)}
	race.MakeRead(1, &op)
	if string(op.Key) != "p/e000001/leader" || op.Kind != kv.Get || op.Consistency != kv.Linearizable || !race.Exists(&store.Event{}) {
		t.Errorf("the node of an office is read by %+v", op)
	}
}
