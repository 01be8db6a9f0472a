package zookeeper

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// bench runs operations in batches of ten, with an answer to each request.
func bench(b *testing.B, op store.Op, records ...[]byte) {
	const batch = 10
	s := granted(b)

	for range batch {
		for _, record := range records {
			s.answer(jute.OK, record...)
		}
	}
	later := s.in
	s.in = nil
	xid := int32(1)
	var events []store.Event
	var err error
	turn := func() {
		for i := range batch {
			op.Tag = uint32(i)
			s.c.Submit(&op)
		}
		s.c.Wrote(len(s.c.Out()))
		for p := later; len(p) > 0; p = p[4+binary.BigEndian.Uint32(p):] { // the server's work
			binary.BigEndian.PutUint32(p[4:], uint32(xid))
			xid++
		}
		if events, err = s.c.Feed(later, events[:0]); err != nil || len(events) != batch || events[batch-1].Outcome.Failed() {
			b.Fatalf("%d events, %v", len(events), err)
		}
	}
	for range 200 {
		turn()
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		b.Fatalf("%v allocations in %d operations", n, batch)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		turn()
	}
}

var (
	benchKey   = []byte("/bench/k")
	benchValue = bytes.Repeat([]byte("v"), 256)
)

func valueRecord() []byte { return stat(7, jute.AppendBuffer(nil, benchValue)...) }

func BenchmarkGet(b *testing.B) {
	bench(b, store.Op{Kind: kv.Get, Consistency: kv.Local, Key: benchKey}, valueRecord())
}

func BenchmarkGetLinearizable(b *testing.B) {
	bench(b, store.Op{Kind: kv.Get, Key: benchKey}, jute.AppendBuffer(nil, benchKey), valueRecord())
}

func BenchmarkPut(b *testing.B) {
	bench(b, store.Op{Kind: kv.Put, Key: benchKey, Value: benchValue}, stat(7))
}

func BenchmarkCAS(b *testing.B) {
	bench(b, store.Op{Kind: kv.CAS, Key: benchKey, Value: benchValue, Revision: 7}, stat(7))
}

func BenchmarkDelete(b *testing.B) { bench(b, store.Op{Kind: kv.Delete, Key: benchKey}, nil) }
