package zookeeper

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// FuzzFeed feeds a codec arbitrary responses to every kind of operation. It checks that nothing
// panics and that each operation ends exactly once.
func FuzzFeed(f *testing.F) {
	s := &scripted{t: f, xid: 1}
	for range 8 {
		s.answer(jute.NoNode)
	}
	f.Add(s.in)
	s = &scripted{t: f, xid: 1}
	for _, record := range [][]byte{nodeStat(1, 0, 0), nil, valueRecord(), nil, bytes.Repeat([]byte{0}, 80), nil, nodeStat(3, 0, 6), nodeStat(2, 0, 7), nil} {
		s.answer(jute.OK, record...)
	}
	f.Add(s.in)
	s.event(jute.NodeDataChanged, "/a", 9)
	s.event(jute.NodeDeleted, "/a/b", -1)
	f.Add(s.in)
	f.Fuzz(func(t *testing.T, in []byte) {
		s := granted(t)
		ops := []store.Op{
			{Kind: kv.Put, Key: key("a/b")}, {Kind: kv.Get, Key: key("a")},
			{Kind: kv.Range, Key: key("a/b"), Range: &store.RangeOp{End: key("a/c")}}, {Kind: kv.Delete, Key: key("a")},
			{Kind: kv.CAS, Key: key("a"), Revision: 3}, {Kind: kv.CAS, Key: key("a/b"), Revision: -1}, {Kind: kv.Delete, Key: key("//")},
			{Kind: kv.KeepAlive}, watchOf("a", "", kv.OnceWatch, 0), watchOf("a/b", "a/c", kv.PersistentWatch, 1),
			{Kind: kv.Txn, Pairs: []store.Pair{{Key: key("a/b")}, {Key: key("c")}}},
		}
		s.submit(ops...)
		s.written()
		ended := map[uint32]int{}
		events, err := s.c.Feed(in, nil)
		for _, e := range events {
			if e.Type == store.OperationDone {
				ended[e.Tag]++
			}
		}
		if err == nil && s.c.Room() == 0 {
			t.Error("the codec has no room, but Feed returned no error")
		}
		for _, e := range s.c.Lost(nil) {
			ended[e.Tag]++
		}
		for tag := range uint32(len(ops)) {
			if ended[tag+1] != 1 {
				t.Errorf("operation %d ended %d times", tag+1, ended[tag+1])
			}
		}
	})
}
