package load_test

import (
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// told is what workers' loops recorded, each with the time at which its clock
// stood at 0.
type told struct {
	mu  sync.Mutex
	ops []history.Op
	t   *testing.T
}

func (h *told) history(zero time.Time, within time.Duration) *history.Recorder {
	if age := time.Since(zero); age < -within || age > time.Hour {
		h.t.Errorf("a loop's clock began %v ago, give or take %v", age, within)
	}
	return &history.Recorder{Take: history.NewBlock, Hand: func(b *history.Block) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var err error
		if h.ops, err = history.Decode(b.Bytes(), h.ops); err != nil {
			h.t.Error(err)
		}
	}}
}

// Every operation that a load sends is recorded once, on every kind of worker:
// with the value that it wrote, the revision that it was done at, and who did it.
func TestWorkersRecordEveryOperation(t *testing.T) {
	const total = 4000
	eachWorker(t, func(t *testing.T, w load.Worker) {
		endpoint := serve(t, "", store.NullOptions{Memory: true})
		l := base(kv.Put, kv.None)
		l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Linearizable, Weight: 1}}
		l.Duration, l.Warmup, l.Total, l.KeySpace, l.ValueSize = 0, 0, total, 50, 32
		p := taskFor(endpoint, l)
		h := &told{t: t}
		p.Reports.History = h.history
		res, err := load.Run(t.Context(), w, &p.Assignment, p.Reports)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.ops) != total || res.Measured.Due != total {
			t.Fatalf("%d operations were recorded of %d", len(h.ops), res.Measured.Due)
		}
		written, revisions := map[[2]uint64]bool{}, map[int64]bool{}
		for i := range h.ops {
			o := &h.ops[i]
			if o.Outcome != kv.OK && o.Outcome != kv.Miss || o.At <= 0 || o.Member == 0 || o.Invoked > o.Done {
				t.Fatalf("one is %+v", o)
			}
			if o.Kind == kv.Put {
				written[[2]uint64{o.Key, o.Written}], revisions[o.At] = true, true
			}
		}
		puts := 0
		for i := range h.ops {
			switch o := &h.ops[i]; {
			case o.Kind == kv.Put:
				puts++
			case o.Outcome == kv.OK && !written[[2]uint64{o.Key, o.Read}]:
				t.Fatalf("nobody wrote what %+v read", o)
			}
		}
		if len(written) != puts || len(revisions) != puts {
			t.Errorf("%d writes have %d values and %d revisions", puts, len(written), len(revisions))
		}
	})
}

// Every key is read back once, on every kind of worker, and counted wherever it is
// there, also where its value is of another load.
func TestWorkersReadEveryKeyBack(t *testing.T) {
	const keys = 300
	eachWorker(t, func(t *testing.T, w load.Worker) {
		endpoint := serve(t, "", store.NullOptions{Memory: true})
		l := base(kv.Put, kv.None)
		l.Duration, l.Warmup, l.Total, l.KeySpace, l.ValueSize = 0, 0, keys, keys, 32
		p, h := taskFor(endpoint, l), &told{t: t}
		p.Reports.History = h.history
		if _, err := load.Run(t.Context(), w, &p.Assignment, p.Reports); err != nil {
			t.Fatal(err)
		}
		written := map[uint64]bool{}
		for i := range h.ops {
			written[h.ops[i].Key] = true
		}
		for _, size := range []int{32, 64} {
			h := &told{t: t}
			p.Load.ValueSize = size
			found, err := w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, h.history)
			if err != nil || found != uint64(len(written)) || len(h.ops) != keys {
				t.Fatalf("%d keys of %d were found, by %d reads: %v", found, len(written), len(h.ops), err)
			}
			for i := range h.ops {
				if o := &h.ops[i]; !o.Final || o.Kind != kv.Get || o.Invoked > o.Done || (o.Outcome == kv.Miss) == written[o.Key] {
					t.Fatalf("a value of %d bytes was read back as %+v", size, o)
				}
			}
			if found, err = w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, nil); err != nil || found != uint64(len(written)) {
				t.Fatalf("without a history, %d keys were found: %v", found, err)
			}
		}
	})
}
