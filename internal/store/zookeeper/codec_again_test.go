package zookeeper

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// recorded returns one replayed operation of each kind.
func recorded() (ops []store.Op) {
	part := func(a call.Action, b call.Branch, flags call.Flags, number int64) call.Part {
		return call.Part{Action: a, Branch: b, Flags: flags, Number: number, Target: call.Version, Key: key("a/b"), Value: call.Value{Text: []byte("v")}}
	}
	always, then := call.Always, call.Then
	list := part(call.Read, always, call.Local|call.KeysOnly, 0)
	list.Key, list.Scope = key("a/"), call.Prefix
	for _, parts := range [][]call.Part{
		{part(call.Read, always, call.Local, 0), part(call.Watch, always, 0, 0)},
		{part(call.Read, always, call.Local|call.KeysOnly, 0)},
		{part(call.Read, always, call.KeysOnly, 0)},
		{list},
		{list},
		{part(call.Compare, always, 0, 0), part(call.Write, then, call.Ephemeral, 0)},
		{part(call.Write, always, call.Sequential, 0)},
		{part(call.Compare, always, 0, 3), part(call.Write, then, call.MustExist, 0)},
		{part(call.Write, always, 0, 0)},
		{part(call.Remove, always, 0, 0)},
		{part(call.Compare, always, 0, 3), part(call.Write, then, call.MustExist, 0), part(call.Remove, then, 0, 0)},
		{part(call.Revoke, always, 0, 0)},
	} {
		request := &call.Call{Guarded: parts[0].Action == call.Compare, Parts: parts}
		if len(parts) > 2 {
			request.Method = methodMulti
		}
		op := store.Op{Call: request, Range: &store.RangeOp{Keys: discardKeys{}}}
		if parts[0].Action == call.Read && len(parts) == 2 {
			op.Watch = &store.WatchOp{Watcher: 3}
		}
		op.Range.KeysOnly = len(ops) == 4 // the caller needs the names in the second list
		op.Kind, _, _ = request.Kind()
		ops = append(ops, op)
	}
	return ops
}

// discardKeys is a store.Keys that discards all keys.
type discardKeys struct{}

func (discardKeys) Begin(uint32) bool                 { return true }
func (discardKeys) Add(uint32, []byte, []byte, int64) {}

// TestFailedTransactionIsAConflictOnlyIfAGuardFailed checks that a failed transaction is a conflict
// only if a guard did not hold.
func TestFailedTransactionIsAConflictOnlyIfAGuardFailed(t *testing.T) {
	end := multiHeader(jute.OpError, 1, -1)
	for code, want := range map[jute.Code]kv.Outcome{jute.BadVersion: kv.Conflict, jute.NoNode: kv.Conflict, jute.NoAuth: kv.Denied} {
		for _, parts := range [][]jute.Code{{jute.OK, code}, {code, jute.RuntimeInconsistency}} {
			s := granted(t)
			for _, op := range recorded() {
				if op.Call.Method == methodMulti {
					s.submit(op)
				}
			}
			s.written()
			s.answer(jute.OK, append(append(failure(parts[0]), failure(parts[1])...), end...)...)
			if events := s.events(); len(events) != 1 || events[0].Outcome != want {
				t.Errorf("%v: %+v, want %v", parts, events, want)
			}
		}
	}
}

// FuzzAgain feeds a codec arbitrary responses to recorded calls. The codec also has a watcher and a
// ping. It checks that nothing panics and that each call ends exactly once.
func FuzzAgain(f *testing.F) {
	s := &scripted{t: f, xid: 1}
	for range 14 {
		s.answer(jute.NoNode)
	}
	f.Add(s.in)
	s = &scripted{t: f, xid: 1}
	s.answer(jute.OK, valueRecord()...)
	s.event(jute.NodeDataChanged, "/a/b", 9)
	for _, record := range [][]byte{valueRecord(), nodeStat(1, 0, 3), nil, bytes.Repeat([]byte{0}, 4), append([]byte{0, 0, 0, 4}, "/a/b"...), append([]byte{0, 0, 0, 5}, "/a/b0"...), nodeStat(3, 1, 6), nodeStat(3, 1, 7)} {
		s.answer(jute.OK, record...)
	}
	f.Add(s.in)
	s = &scripted{t: f, xid: 1}
	s.answer(jute.NoNode)
	s.answer(jute.OK, valueRecord()...)
	s.event(jute.NodeDeleted, "/a/b", 9)
	s.event(jute.NodeDeleted, "/a/b", 9)
	s.answer(jute.OK, nodeStat(1, 0, 3)...)
	s.answer(jute.OK, nodeStat(1, 0, 3)...)
	s.answer(jute.OK, jute.AppendBuffer(jute.AppendBuffer([]byte{0, 0, 0, 2}, "x-latch-0000000001"), "b")...)
	s.answer(jute.OK, jute.AppendBuffer([]byte{0, 0, 0, 2}, "b")...)
	f.Add(s.in)
	f.Fuzz(func(t *testing.T, in []byte) {
		s := granted(t)
		ops := append([]store.Op{watchOf("a/b", "", kv.OnceWatch, 0)}, recorded()...)
		ops = append(ops, store.Op{Kind: kv.KeepAlive})
		s.submit(ops...)
		s.written()
		ended := map[uint32]int{}
		events, _ := s.c.Feed(in, nil)
		for _, e := range append(events, s.c.Lost(nil)...) {
			if e.Type == store.OperationDone {
				ended[e.Tag]++
			}
		}
		for tag := range uint32(len(ops)) {
			if ended[tag+1] != 1 {
				t.Errorf("operation %d ended %d times", tag+1, ended[tag+1])
			}
		}
		if !s.c.Draining() {
			t.Error("the codec accepts operations after its session was closed")
		}
	})
}
