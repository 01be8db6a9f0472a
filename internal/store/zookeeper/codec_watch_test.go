package zookeeper

import (
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// event sends a watch event to the codec.
func (s *scripted) event(what jute.WatchEvent, path string, zxid int64) {
	b := make([]byte, 4+16+4+4)
	jute.PutInt(b, int32(16+8+4+len(path)))
	xid := jute.XidNotification
	jute.PutInt(jute.PutLong(jute.PutInt(b[4:], xid), zxid), 0)
	jute.PutInt(jute.PutInt(b[20:], int32(what)), 3)
	s.in = append(s.in, jute.AppendBuffer(b, path)...)
}

func (s *scripted) events() []store.Event {
	s.t.Helper()
	events, err := s.tryFeed()
	if err != nil {
		s.t.Fatal(err)
	}
	return events
}

// nodeData returns the record of a read of a node.
func nodeData(data string, mzxid int64, version int32) []byte {
	return append(jute.AppendBuffer(nil, data), nodeStat(version, len(data), mzxid)...)
}

func watchOf(k string, end string, mode kv.WatchMode, watcher uint32) store.Op {
	op := store.Op{Kind: kv.Watch, Key: key(k), Watch: &store.WatchOp{Watcher: watcher, Mode: mode}}
	if end != "" {
		op.Watch.End = key(end)
	}
	return op
}

// TestOneShotWatchIsSetAgain checks that, after a one-shot watch has fired, a single read sets it
// again for all watchers that share it, and that the codec reports the read's result as the
// event. A watcher that was created after the change must not receive the event.
func TestOneShotWatchIsSetAgain(t *testing.T) {
	s := granted(t)
	s.submit(watchOf("a", "", kv.OnceWatch, 7))
	if got := s.requests(); got != "4 /a" {
		t.Fatalf("the codec creates the watcher with the requests %q", got)
	}
	s.zxid = 3<<32 | 20
	s.answer(jute.OK, nodeData("v0", 3<<32|12, 4)...)
	e := s.events()
	if len(e) != 1 || e[0].Outcome != kv.OK || e[0].Watcher != 7 || e[0].Version != 5 || e[0].ModRevision != 3<<32|12 || e[0].Revision < 3<<32|20 {
		t.Fatalf("the response to the new watcher produced the events %+v", e)
	}
	s.event(jute.NodeDataChanged, "/a", 3<<32|30)
	s.event(jute.NodeDataChanged, "/a", 3<<32|31) // the event for a watch that another read had set
	if e := s.events(); len(e) != 0 {
		t.Fatalf("the codec reported a change before it read the new data: %+v", e)
	}
	if got := s.requests(); got != "4 /a" {
		t.Fatalf("the codec set the watch again with the requests %q", got)
	}
	s.submit(watchOf("a", "", kv.OnceWatch, 8))
	s.written()
	s.zxid = 3<<32 | 33
	s.answer(jute.OK, nodeData("v3", 3<<32|32, 7)...)
	s.answer(jute.OK, nodeData("v3", 3<<32|32, 7)...)
	e = s.events()
	if len(e) != 2 || e[0].Type != store.WatchChange || e[0].Watcher != 7 || string(e[0].Value) != "v3" || e[0].Version != 8 || e[0].Revision != 3<<32|32 || e[1].Type != store.OperationDone {
		t.Fatalf("the responses to both reads produced the events %+v", e)
	}
	if got := s.requests(); got != "4 /a" {
		t.Fatalf("after a change during the read, the codec sent the requests %q", got)
	}
	s.answer(jute.OK, nodeData("v3", 3<<32|32, 7)...)
	if e := s.events(); len(e) != 0 {
		t.Fatalf("a read that returned no new data produced the events %+v", e)
	}
	s.event(jute.NodeDeleted, "/a", 3<<32|40)
	s.zxid = 3<<32 | 41
	s.events()
	s.answer(jute.NoNode)
	s.events()
	if got := s.requests(); got != "4 /a, 3 /a" {
		t.Fatalf("after the deletion, the codec sent the requests %q", got)
	}
	s.answer(jute.NoNode)
	e = s.events()
	if len(e) != 2 || e[0].Version != 0 || e[0].Revision != 3<<32|40 || e[0].ModRevision != 0 || e[1].Watcher != 8 {
		t.Fatalf("the deletion produced the events %+v", e)
	}
}

// TestNewDataBeforeTheirEventAreWrong checks that a response is wrong if it contains new data
// before the watch event arrived.
func TestNewDataBeforeTheirEventAreWrong(t *testing.T) {
	s := granted(t)
	s.submit(watchOf("a", "", kv.OnceWatch, 7))
	s.answer(jute.OK, nodeData("v0", 3<<32|9, 4)...)
	s.events()
	s.submit(store.Op{Kind: kv.Get, Key: key("a"), Consistency: kv.Local}, store.Op{Kind: kv.Get, Key: key("a"), Consistency: kv.Local})
	s.written()
	s.zxid = 3<<32 | 40
	s.answer(jute.OK, nodeData("v1", 3<<32|30, 5)...)
	s.event(jute.NodeDataChanged, "/a", 3<<32|30)
	s.answer(jute.OK, nodeData("v1", 3<<32|30, 5)...)
	e := s.events()
	if len(e) != 2 || e[0].Outcome != kv.WrongResponse || string(e[0].Text) != string(dataBeforeEvent) || e[1].Outcome != kv.OK {
		t.Fatalf("%+v", e)
	}
}

// TestPersistentWatch checks that a persistent recursive watch reports each change with its zxid to
// the watchers of that key, and that an event without a zxid ends the watchers.
func TestPersistentWatch(t *testing.T) {
	s := granted(t)
	s.submit(watchOf("dir/b", "dir/d", kv.PersistentWatch, 1), watchOf("/dir/b", "", kv.PersistentWatch, 2))
	if got := s.requests(); got != "106 /dir, 106 /dir/b" {
		t.Fatalf("the codec creates the watchers with the requests %q", got)
	}
	s.answer(jute.OK)
	s.answer(jute.OK)
	if e := s.events(); len(e) != 2 || e[0].Watcher != 1 || e[1].Watcher != 2 || e[0].Revision == 0 || e[0].Version != -1 {
		t.Fatalf("the responses to the new watchers produced the events %+v", e)
	}
	s.event(jute.NodeCreated, "/dir/b", 3<<32|30)
	s.event(jute.NodeDataChanged, "/dir/c", 3<<32|31)
	s.event(jute.NodeDeleted, "/dir/e", 3<<32|32)
	s.event(jute.NodeDeleted, "/dir/c", 3<<32|33)
	var got []string
	for _, e := range s.events() {
		if e.Type != store.WatchChange || e.StoreRevision != e.Revision {
			t.Fatalf("%+v", e)
		}
		got = append(got, string(e.Key))
	}
	if len(got) != 4 || got[0] != "/dir/b" || got[1] != "dir/b" || got[2] != "dir/c" || got[3] != "dir/c" {
		t.Fatalf("the events have the keys %q", got)
	}
	progress := watchOf("dir/b", "", kv.AnyWatch, 0)
	progress.Watch.RequestProgress = true
	s.submit(progress)
	s.zxid = 3<<32 | 50
	s.answer(jute.OK, nodeStat(1, 0, 5)...)
	if e := s.events(); len(e) != 2 || e[0].Type != store.WatchProgress || e[1].Type != store.WatchProgress || e[0].Revision != e[1].Revision || e[0].Revision < 3<<32|50 {
		t.Fatalf("the progress request produced the events %+v", e)
	}
	s.event(jute.NodeDataChanged, "/dir/c", -1)
	if e := s.events(); len(e) != 1 || e[0].Type != store.WatchEnded || e[0].Outcome != kv.BadRequest {
		t.Fatalf("an event without a zxid produced the events %+v", e)
	}
}

// TestUnsupportedWatchesAreRefused checks that the codec refuses unsupported watches with an
// explanation.
func TestUnsupportedWatchesAreRefused(t *testing.T) {
	s := granted(t)
	s.submit(watchOf("a", "b", kv.OnceWatch, 1), watchOf("a", "", kv.StreamWatch, 2), watchOf("a", "", kv.PersistentWatch, 3))
	s.written()
	s.answer(jute.OK, nodeStat(1, 0, 5)...)
	s.answer(jute.OK, nodeStat(1, 0, 5)...)
	s.answer(jute.Unimplemented)
	for i, e := range s.events() {
		if e.Outcome != kv.BadRequest || len(e.Text) == 0 {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// TestKeepAlive checks that a requested ping renews the session, and that its event contains the
// session timeout.
func TestKeepAlive(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.KeepAlive})
	b := make([]byte, 4+16)
	jute.PutInt(b, 16)
	xid := jute.XidPing
	jute.PutInt(jute.PutLong(jute.PutInt(b[4:], xid), 3<<32|11), 0)
	s.in = append(s.in, b...)
	if e := s.events(); len(e) != 1 || e[0].Outcome != kv.OK || e[0].Count != 9 || e[0].StoreRevision != 3<<32|11 {
		t.Fatalf("%+v", e)
	}
}

// TestExpiredSessionIsReported checks that a codec that tries to continue an expired session
// reports the expiry.
func TestExpiredSessionIsReported(t *testing.T) {
	s := granted(t)
	s.c.Lost(nil)
	next := newScripted(t, store.Access{}, store.ConnectionInfo{Previous: s.c})
	next.grant(0, 0)
	events, err := next.tryFeed()
	if !errors.Is(err, jute.ErrExpired) || len(events) != 1 || events[0].Type != store.SessionExpired {
		t.Fatalf("%+v, %v", events, err)
	}
}

// TestEphemeral checks that creating an ephemeral node is a conflict if the node exists, and that
// missing parents are created.
func TestEphemeral(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Ephemeral, Key: key("a/b"), Value: []byte("v")})
	s.expect("1 /a/b")
	s.answer(jute.NoNode)
	s.events()
	s.expect("1 /a, 1 /a/b")
	s.answer(jute.OK, jute.AppendBuffer(nil, "/a")...)
	s.answer(jute.OK, jute.AppendBuffer(nil, "/a/b")...)
	if e := s.events(); len(e) != 1 || e[0].Outcome != kv.OK || e[0].ExtraRequests != 2 || e[0].StoreRevision <= 0 {
		t.Fatalf("%+v", e)
	}
	s.submit(store.Op{Kind: kv.Ephemeral, Key: key("a/b")})
	s.answer(jute.NodeExists)
	if e := s.events(); len(e) != 1 || e[0].Outcome != kv.Conflict {
		t.Fatalf("%+v", e)
	}
}

// TestVersionOfNodeDoesNotSayThatItWasDeleted checks that the codec never reports version 0,
// which means deleted, for an existing node. It reads nodes with negative versions, which follow
// version 2^31-1, and a node that no transaction has changed.
func TestVersionOfNodeDoesNotSayThatItWasDeleted(t *testing.T) {
	for version, want := range map[int32]int64{0: 1, 4: 5, -1: -1, -2: -1, -1 << 31: -1} {
		for _, mzxid := range []int64{0, 3<<32 | 12} {
			s := granted(t)
			s.submit(watchOf("a", "", kv.OnceWatch, 7))
			s.requests()
			s.zxid = 3<<32 | 20
			s.answer(jute.OK, nodeData("v0", mzxid, version)...)
			if e := s.events(); len(e) != 1 || e[0].Version != want {
				t.Errorf("for a node with version %d and mzxid %d, the events are %+v", version, mzxid, e)
			}
		}
	}
}
