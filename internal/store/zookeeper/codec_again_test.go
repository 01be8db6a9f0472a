package zookeeper

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// recorded are operations that send calls of each form again.
func recorded() (ops []store.Op) {
	part := func(a recording.Action, b recording.Branch, flags recording.Flags, number int64) recording.Part {
		return recording.Part{Action: a, Branch: b, Flags: flags, Number: number, Target: recording.Version, Key: key("a/b"), Value: recording.Value{Text: []byte("v")}}
	}
	always, then := recording.Always, recording.Then
	list := part(recording.Read, always, recording.Local|recording.KeysOnly, 0)
	list.Key, list.Scope = key("a/"), recording.Prefix
	for _, parts := range [][]recording.Part{
		{part(recording.Read, always, recording.Local, 0), part(recording.Watch, always, 0, 0)},
		{part(recording.Read, always, recording.Local|recording.KeysOnly, 0)},
		{part(recording.Read, always, recording.KeysOnly, 0)},
		{list},
		{list},
		{part(recording.Compare, always, 0, 0), part(recording.Write, then, recording.Ephemeral, 0)},
		{part(recording.Write, always, recording.Sequential, 0)},
		{part(recording.Compare, always, 0, 3), part(recording.Write, then, recording.Existing, 0)},
		{part(recording.Write, always, 0, 0)},
		{part(recording.Remove, always, 0, 0)},
		{part(recording.Compare, always, 0, 3), part(recording.Write, then, recording.Existing, 0), part(recording.Remove, then, 0, 0)},
		{part(recording.Revoke, always, 0, 0)},
	} {
		call := &recording.Call{Guarded: parts[0].Action == recording.Compare, Parts: parts}
		if len(parts) > 2 {
			call.Method = methodMulti
		}
		op := store.Op{Call: call, Range: &store.RangeOp{Keys: passed{}}}
		if parts[0].Action == recording.Read && len(parts) == 2 {
			op.Watch = &store.WatchOp{Watcher: 3}
		}
		op.Range.KeysOnly = len(ops) == 4 // of the second list the names are wanted
		op.Kind, _, _ = call.Kind()
		ops = append(ops, op)
	}
	return ops
}

// passed takes keys.
type passed struct{}

func (passed) Begin(uint32) bool                 { return true }
func (passed) Add(uint32, []byte, []byte, int64) {}

// A transaction whose guard did not hold is a conflict; one that failed for another
// reason is none.
func TestAFailedTransactionSaysWhy(t *testing.T) {
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

// FuzzAgain gives anything as answers to recorded calls beside a watcher and a ping:
// nothing panics, and each ends once.
func FuzzAgain(f *testing.F) {
	s := &scripted{t: f, xid: 1}
	for range 14 {
		s.answer(jute.NoNode)
	}
	f.Add(s.in)
	s = &scripted{t: f, xid: 1}
	s.answer(jute.OK, valueRecord()...)
	s.event(jute.NodeDataChanged, "/a/b", 9)
	for _, record := range [][]byte{valueRecord(), made(1, 0, 3), nil, bytes.Repeat([]byte{0}, 4), append([]byte{0, 0, 0, 4}, "/a/b"...), append([]byte{0, 0, 0, 5}, "/a/b0"...), made(3, 1, 6), made(3, 1, 7)} {
		s.answer(jute.OK, record...)
	}
	f.Add(s.in)
	s = &scripted{t: f, xid: 1}
	s.answer(jute.NoNode)
	s.answer(jute.OK, valueRecord()...)
	s.event(jute.NodeDeleted, "/a/b", 9)
	s.event(jute.NodeDeleted, "/a/b", 9)
	s.answer(jute.OK, made(1, 0, 3)...)
	s.answer(jute.OK, made(1, 0, 3)...)
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
			if e.What == store.Done {
				ended[e.Tag]++
			}
		}
		for tag := range uint32(len(ops)) {
			if ended[tag+1] != 1 {
				t.Errorf("operation %d ended %d times", tag+1, ended[tag+1])
			}
		}
		if !s.c.Draining() {
			t.Error("its session was ended, and it takes more")
		}
	})
}
