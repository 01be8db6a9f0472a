package zookeeper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// bench runs operations in batches of ten. The simulated server sends a response to each request.
// A response to a write contains the Stat of each written node, and the parameter `mzxids`
// contains the offsets of the Stats' mzxids in the response.
func bench(b *testing.B, op store.Op, mzxids []int, records ...[]byte) {
	const batch = 10
	s := granted(b)

	for range batch {
		for _, record := range records {
			s.answer(jute.OK, record...)
		}
	}
	later := s.in
	s.in = nil
	xid, zxid := int32(1), s.zxid
	var events []store.Event
	var err error
	turn := func() {
		for i := range batch {
			op.Tag = uint32(i)
			s.c.Submit(&op)
		}
		s.c.Wrote(len(s.c.Out()))
		for p := later; len(p) > 0; p = p[4+binary.BigEndian.Uint32(p):] { // simulates the server's work
			binary.BigEndian.PutUint32(p[4:], uint32(xid))
			binary.BigEndian.PutUint64(p[8:], uint64(zxid))
			for _, at := range mzxids {
				binary.BigEndian.PutUint64(p[at:], uint64(zxid))
			}
			xid++
			zxid++
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

func valueRecord() []byte { return stat(7, benchValue) }

func BenchmarkGet(b *testing.B) {
	bench(b, store.Op{Kind: kv.Get, Consistency: kv.Local, Key: benchKey}, nil, valueRecord())
}

func BenchmarkGetLinearizable(b *testing.B) {
	bench(b, store.Op{Kind: kv.Get, Key: benchKey}, nil, jute.AppendBuffer(nil, benchKey), valueRecord())
}

// ofStat is the offset of the mzxid in a frame in which the Stat directly follows the header.
const ofStat = 4 + 16 + 8

func BenchmarkPut(b *testing.B) {
	bench(b, store.Op{Kind: kv.Put, Key: benchKey, Value: benchValue}, []int{ofStat}, nodeStat(7, len(benchValue), 0))
}

func BenchmarkCAS(b *testing.B) {
	bench(b, store.Op{Kind: kv.CAS, Key: benchKey, Value: benchValue, Revision: 7}, []int{ofStat}, nodeStat(7, len(benchValue), 0))
}

func BenchmarkDelete(b *testing.B) { bench(b, store.Op{Kind: kv.Delete, Key: benchKey}, nil, nil) }

func BenchmarkTxn(b *testing.B) {
	one := resultOf(jute.OpSetData, nodeStat(7, len(benchValue), 0))
	op := store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: benchKey, Value: benchValue}, {Key: []byte("/bench/l"), Value: benchValue}}}
	bench(b, op, []int{ofStat + 9, ofStat + 9 + len(one)}, results(one, one))
}

func BenchmarkRange(b *testing.B) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("%08d", i*7919%100))
	}
	bench(b, store.Op{Kind: kv.Range, Consistency: kv.Local, Key: []byte("/bench/"), Range: &store.RangeOp{End: []byte("/bench0")}}, nil, children(len(list), list...))
}
