package history_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// Decode returns the operations that Append encoded. The operations use all combinations of fields,
// with extreme values.
func TestDecodeReturnsAppendedOperations(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		b, want := history.NewBlock(), []history.Op(nil)
		done := int64(0)
		for {
			o := randomOp(r, &done)
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			if !b.Append(&o) {
				break
			}
			if want = append(want, o); len(want) == int(seed)*20 {
				break
			}
		}
		got, err := history.Decode(b.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || b.Len() != len(want) {
			t.Fatalf("seed %d, %d operations: %s", seed, b.Len(), d)
		}
		b.Reset()
		if b.Len() != 0 || len(b.Bytes()) != 0 {
			t.Fatal("an empty block is not empty")
		}
	}
}

func randomOp(r *rand.Rand, done *int64) history.Op {
	large := func() int64 { return r.Int64N(1<<62-1) >> r.IntN(62) }
	*done = min(*done+large()>>r.IntN(30), 1<<62-1)
	o := history.Op{
		Kind: kv.Kind(r.IntN(int(kv.NumKinds))), Consistency: kv.Consistency(r.IntN(int(kv.NumConsistencies))),
		Outcome: kv.Outcome(r.IntN(int(kv.NumOutcomes))), ContinuesPrevious: r.IntN(4) == 0, Final: r.IntN(4) == 0,
		Session: r.Uint32() >> r.IntN(32), Member: uint64(r.IntN(300)) << 40, Key: r.Uint64() >> r.IntN(64),
		Done: *done, Invoked: max(*done-large(), 0),
		Written: r.Uint64() >> r.IntN(64), Revision: large(), ModRevision: large(), Expected: large() - 1,
	}
	if o.Member>>40 > 200 {
		o.Member = 7 // so that no block has too many members
	}
	if o.Kind == kv.Watch {
		o.Consistency, o.Watch = kv.NoConsistency, history.WatchEvent(r.IntN(4))
	}
	if o.Kind == kv.KeepAlive {
		o.Consistency, o.LockChange = kv.NoConsistency, history.LockChange(r.IntN(3))
	}
	switch r.IntN(3) {
	case 0:
		o.Read = history.UnknownValue
	case 1:
		o.Read = r.Uint64()
	}
	return o
}

// An operation that ended before the previous operation is recorded as if it had ended together
// with the previous operation.
func TestDoneNeverDecreases(t *testing.T) {
	b := history.NewBlock()
	b.Append(&history.Op{Invoked: 10, Done: 50})
	b.Append(&history.Op{Invoked: 30, Done: 40})
	got, err := history.Decode(b.Bytes(), nil)
	if err != nil || got[1].Invoked != 30 || got[1].Done != 50 {
		t.Errorf("decoded %+v, error %v", got, err)
	}
}

func TestBlockTakesMoreMembersThanIndexes(t *testing.T) {
	b := history.NewBlock()
	for m := range uint64(300) {
		b.Append(&history.Op{Member: m + 1})
	}
	got, err := history.Decode(b.Bytes(), nil)
	if err != nil || len(got) != 300 || got[254].Member != 255 || got[255].Member != 0 {
		t.Errorf("%d operations were decoded, error %v", len(got), err)
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	free := []*history.Block{history.NewBlock(), history.NewBlock()}
	handed := 0
	r := history.Recorder{
		Take: func() *history.Block {
			b := free[len(free)-1]
			free = free[:len(free)-1]
			return b
		},
		Deliver: func(b *history.Block) {
			handed += b.Len()
			b.Reset()
			free = append(free, b)
		},
	}
	added := 0
	typical := typicalOps(10_000)
	each := testing.AllocsPerRun(100_000, func() {
		r.Add(&typical[added%len(typical)])
		added++
	})
	r.Flush()
	r.Flush()
	if each != 0 || handed != added {
		t.Errorf("%v allocations per operation; %d of %d operations were delivered", each, handed, added)
	}
}

// typicalOps returns operations like those of a load with 50,000 operations per second on 100,000
// keys.
func typicalOps(n int) []history.Op {
	r := rand.New(rand.NewPCG(1, 1))
	ops := make([]history.Op, n)
	for i := range ops {
		at := int64(1_000_000 + i/2)
		o := history.Op{
			Session: uint32(r.IntN(1000)), Member: uint64(r.IntN(3)+1) * 0x9e3779b97f4a7c15, Key: uint64(r.IntN(100_000)),
			Done: int64(i)*20_000 + r.Int64N(15_000), Revision: at,
		}
		o.Invoked = max(o.Done-500_000-r.Int64N(20_000_000), 0)
		if i%2 == 0 {
			o.Kind, o.Written = kv.Put, uint64(i+r.IntN(50)+1)
		} else {
			o.Kind, o.Consistency, o.Read, o.ModRevision = kv.Get, kv.Linearizable, uint64(r.IntN(i)+1), at-r.Int64N(100_000)
		}
		ops[i] = o
	}
	return ops
}

func BenchmarkAppend(b *testing.B) {
	ops := typicalOps(100_000)
	block, bytes := history.NewBlock(), 0
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if !block.Append(&ops[i%len(ops)]) {
			bytes += len(block.Bytes())
			block.Reset()
		}
		i++
	}
	b.ReportMetric(float64(bytes+len(block.Bytes()))/float64(b.N), "B/row")
}

func BenchmarkDecode(b *testing.B) {
	ops := typicalOps(3000)
	block := history.NewBlock()
	for i := range ops {
		block.Append(&ops[i])
	}
	var got []history.Op
	n := 0
	for b.Loop() {
		got, _ = history.Decode(block.Bytes(), got[:0])
		n += len(got)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
}

func FuzzDecode(f *testing.F) {
	b := history.NewBlock()
	for _, o := range typicalOps(20) {
		b.Append(&o)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:100])
	b.Reset()
	b.Append(&history.Op{Kind: kv.CAS, Outcome: kv.Conflict, Expected: history.UnknownRevision, ModRevision: 1<<62 - 1, Revision: 1<<62 - 1, Read: history.UnknownValue, Final: true, ContinuesPrevious: true})
	f.Add(b.Bytes())
	b.Reset()
	for watchKind := history.WatchStarted; watchKind <= history.WatchEnded; watchKind++ {
		b.Append(&history.Op{Kind: kv.Watch, Watch: watchKind, Session: 7, Key: 3, Written: 4, Revision: 12, ModRevision: 12, Expected: 11, Read: history.UnknownValue})
	}
	f.Add(b.Bytes())
	b.Reset()
	for lock := history.NoLockChange; lock <= history.Released; lock++ {
		b.Append(&history.Op{Kind: kv.KeepAlive, LockChange: lock, Session: 7, Written: 4, Revision: 12, ModRevision: 12})
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		ops, err := history.Decode(in, nil)
		again := history.NewBlock()
		whole := true
		for i := range ops {
			if bad := ops[i].Check(); bad != nil {
				t.Fatalf("a decoded operation cannot be held: %v", bad)
			}
			whole = whole && (i == 0 || ops[i].Done >= ops[i-1].Done) && again.Append(&ops[i])
		}
		if err != nil || !whole {
			return
		}
		twice, err := history.Decode(again.Bytes(), nil)
		if err != nil || cmp.Diff(ops, twice) != "" {
			t.Fatalf("%v: %s", err, cmp.Diff(ops, twice))
		}
	})
}
