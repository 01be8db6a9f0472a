package load_test

import (
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recordings collects what the recorders of a worker's loops record. For each recorder, it also
// checks the time at which the loop's clock was 0.
type recordings struct {
	mu  sync.Mutex
	ops []history.Op
	t   *testing.T
}

func (h *recordings) history(zero time.Time, within time.Duration) *history.Recorder {
	if age := time.Since(zero); age < -within || age > time.Hour {
		h.t.Errorf("a loop's clock was 0 at %v before now, with an error of up to %v; want a time in the last hour", age, within)
	}
	return &history.Recorder{Take: history.NewBlock, Deliver: func(b *history.Block) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var err error
		if h.ops, err = history.Decode(b.Bytes(), h.ops); err != nil {
			h.t.Error(err)
		}
	}}
}

// Every kind of worker records each operation that a load sends exactly once, with the written
// value, the revision and the member.
func TestWorkersRecordEveryOperation(t *testing.T) {
	t.Parallel()
	const total = 4000
	eachWorker(t, func(t *testing.T, w load.Worker) {
		endpoint := serve(t, "", store.NullOptions{Memory: true})
		l := base(kv.Put, kv.NoConsistency)
		l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Linearizable, Weight: 1}}
		l.Duration, l.Warmup, l.Total, l.KeySpace, l.ValueSize = 0, 0, total, 50, 32
		p := taskFor(endpoint, l)
		h := &recordings{t: t}
		p.Reports.NewRecorder = h.history
		res, err := load.Run(t.Context(), w, &p.Assignment, p.Reports)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.ops) != total || res.Measured.Due != total {
			t.Fatalf("%d operations were recorded and %d were due, want 4000 of each", len(h.ops), res.Measured.Due)
		}
		written, revisions := map[[2]uint64]bool{}, map[int64]bool{}
		for i := range h.ops {
			o := &h.ops[i]
			if o.Outcome != kv.OK && o.Outcome != kv.Miss || o.Revision <= 0 || o.Member == 0 || o.Invoked > o.Done {
				t.Fatalf("an operation is recorded as %+v", o)
			}
			if o.Kind == kv.Put {
				written[[2]uint64{o.Key, o.Written}], revisions[o.Revision] = true, true
			}
		}
		puts := 0
		for i := range h.ops {
			switch o := &h.ops[i]; {
			case o.Kind == kv.Put:
				puts++
			case o.Outcome == kv.OK && !written[[2]uint64{o.Key, o.Read}]:
				t.Fatalf("no write has the value that this read returned: %+v", o)
			}
		}
		if len(written) != puts || len(revisions) != puts {
			t.Errorf("%d writes have %d different values and %d different revisions", puts, len(written), len(revisions))
		}
	})
}

// A range is recorded as one part for each key that the reply covers, including keys that do not
// exist. This is true for every form of range, and for a range that covers a single key.
func TestRangesAreRecordedKeyByKey(t *testing.T) {
	t.Parallel()
	const keys = 30
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	l := base(kv.Put, kv.NoConsistency)
	l.Clients, l.Total, l.KeySpace, l.ValueSize, l.Distribution = 1, keys, keys, 32, scenario.Distribution{Name: "sequential"}
	run(t, taskFor(endpoint, l))
	l.Mix[0].Kind, l.Total, l.Seed = kv.Delete, 5, 1 // delete the first five keys
	run(t, taskFor(endpoint, l))
	l.Distribution = scenario.Distribution{Name: "uniform"}
	for name, c := range map[string]struct {
		kind kv.Kind
		edit func(*scenario.Load)
		// The first and the last key that the reply covers. If `last` is 0, the reply starts at the
		// operation's key and covers as many keys as the limit permits.
		first, last  uint64
		unseen, none bool // unseen: the reply has no values; none: the reply has no keys
	}{
		"plain":           {kind: kv.Range},
		"limited":         {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeLimit = 7 }},
		"in pages":        {kind: kv.Range, edit: func(l *scenario.Load) { l.Scan.PageSize = 4 }},
		"streamed":        {kind: kv.Range, edit: func(l *scenario.Load) { l.Scan.Streamed = true }},
		"keys alone":      {kind: kv.Range, edit: func(l *scenario.Load) { l.Scan.KeysOnly = true }, unseen: true},
		"counted":         {kind: kv.Range, edit: func(l *scenario.Load) { l.Scan.CountOnly = true }, none: true},
		"transaction":     {kind: kv.TxnGet},
		"given":           {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeKey, l.RangeEnd = []byte("00000003"), []byte("00000012") }, first: 3, last: 11},
		"given, no end":   {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeKey, l.RangeEnd = []byte("00000028"), []byte{0} }, first: 28, last: 29},
		"one key":         {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeKey = []byte("00000007") }, first: 7, last: 7},
		"one that is not": {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeKey = []byte("00000002") }, first: 2, last: 2},
		"of others":       {kind: kv.Range, edit: func(l *scenario.Load) { l.RangeKey, l.RangeEnd = []byte("x"), []byte("y") }, none: true},
	} {
		l := l
		l.Mix, l.Total = []scenario.Operation{{Kind: c.kind, Consistency: kv.Linearizable, Weight: 1}}, 20
		if c.edit != nil {
			c.edit(&l)
		}
		p, h := taskFor(endpoint, l), &recordings{t: t}
		p.Reports.NewRecorder = h.history
		run(t, p)
		ranges := 0
		for i := 0; i < len(h.ops); ranges++ {
			first, found := h.ops[i], uint64(0)
			end := i + 1
			for end < len(h.ops) && h.ops[end].ContinuesPrevious {
				end++
			}
			for at, o := range h.ops[i:end] {
				there := o.Key >= 5
				if o.Key != first.Key+uint64(at) || o.Revision != first.Revision || o.Revision == 0 || there != (o.ModRevision > 0) || there != (o.Read != history.Absent) || there && c.unseen != (o.Read == history.UnknownValue) {
					if !c.none || end != i+1 || o.Read != history.UnknownValue || o.ModRevision != 0 {
						t.Fatalf("%s: part %d is %+v", name, at, o)
					}
				}
				if there {
					found++
				}
			}
			last := h.ops[end-1].Key
			switch {
			case c.none:
			case c.last > 0 && (first.Key != c.first || last != c.last):
				t.Fatalf("%s: the range covers the keys %d to %d", name, first.Key, last)
			case c.last == 0 && last != keys-1 && found != uint64(l.RangeLimit):
				t.Fatalf("%s: the range that starts at key %d covers keys up to %d, and found %d keys", name, first.Key, last, found)
			}
			i = end
		}
		if ranges != 20 {
			t.Errorf("%s: %d ranges were recorded, want 20", name, ranges)
		}
	}
}

// The creation of each watcher, all its watch events, and its progress are recorded. Watch events
// are recorded in order and with the previous value.
func TestWatcherEventsAreRecorded(t *testing.T) {
	t.Parallel()
	p := watched(serve(t, "", store.NullOptions{Memory: true}))
	p.Load.Watch.PrevKV = true
	h := &recordings{t: t}
	p.Reports.NewRecorder = h.history
	m := run(t, p).Measured
	began, high, count := map[uint32]int64{}, map[uint32]history.Op{}, map[history.WatchEvent]int{}
	for i := range h.ops {
		o := &h.ops[i]
		if o.Kind != kv.Watch {
			continue
		}
		count[o.Watch]++
		last := high[o.Session]
		switch o.Watch {
		case history.WatchStarted:
			if began[o.Session] = o.Revision; o.Key != uint64(o.Session%4) || o.Written != 1 || o.ModRevision != 0 {
				t.Fatalf("the creation of a watcher is recorded as %+v", o)
			}
		case history.KeyChanged:
			if o.ModRevision <= last.ModRevision || o.Key != uint64(o.Session%4) || o.Read == 0 || o.Read == history.UnknownValue || o.Member == 0 || o.Revision < o.ModRevision || o.ModRevision <= began[o.Session] ||
				o.Expected != last.ModRevision || o.Written != last.Read {
				t.Fatalf("after the event %+v, the event %+v is recorded", last, o)
			}
			high[o.Session] = *o
		case history.ProgressReached:
			if o.ModRevision < last.ModRevision {
				t.Fatalf("after the event %+v, the progress %+v is recorded", last, o)
			}
		}
	}
	if len(began) != 20 || count[history.KeyChanged] != 5000 || count[history.ProgressReached] == 0 || m.Failed() > 0 {
		t.Errorf("the recorded numbers by kind are %v, for %d watchers", count, len(began))
	}
}

// Every kind of worker reads every key back once, and counts the keys that exist, even if a
// different load wrote their values.
func TestWorkersReadEveryKeyBack(t *testing.T) {
	t.Parallel()
	const keys = 300
	eachWorker(t, func(t *testing.T, w load.Worker) {
		endpoint := serve(t, "", store.NullOptions{Memory: true})
		l := base(kv.Put, kv.NoConsistency)
		l.Duration, l.Warmup, l.Total, l.KeySpace, l.ValueSize = 0, 0, keys, keys, 32
		p, h := taskFor(endpoint, l), &recordings{t: t}
		p.Reports.NewRecorder = h.history
		if _, err := load.Run(t.Context(), w, &p.Assignment, p.Reports); err != nil {
			t.Fatal(err)
		}
		written := map[uint64]bool{}
		for i := range h.ops {
			written[h.ops[i].Key] = true
		}
		for _, size := range []int{32, 64} {
			h := &recordings{t: t}
			p.Load.ValueSize = size
			found, err := w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, h.history)
			if err != nil || found != uint64(len(written)) || len(h.ops) != keys {
				t.Fatalf("ReadBack found %d of %d keys with %d reads: %v", found, len(written), len(h.ops), err)
			}
			for i := range h.ops {
				if o := &h.ops[i]; !o.Final || o.Kind != kv.Get || o.Invoked > o.Done || (o.Outcome == kv.Miss) == written[o.Key] {
					t.Fatalf("a value of %d bytes was read back as %+v", size, o)
				}
			}
			if found, err = w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, nil); err != nil || found != uint64(len(written)) {
				t.Fatalf("without a history, ReadBack found %d keys: %v", found, err)
			}
		}
		// Read only the first ten keys. ReadBack must find those of them that were written.
		want := uint64(0)
		for k := range uint64(10) {
			if written[k] {
				want++
			}
		}
		p.Only = []uint64{1<<10 - 1}
		h = &recordings{t: t}
		if found, err := w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, h.history); err != nil || found != want || len(h.ops) != 10 {
			t.Errorf("ReadBack found %d of 10 keys, want %d, with %d reads: %v", found, want, len(h.ops), err)
		}
		p.Only = []uint64{0}
		if found, err := w.ReadBack(t.Context(), &p.Assignment, kv.Linearizable, nil); err != nil || found != 0 {
			t.Errorf("ReadBack found %d keys, want none: %v", found, err)
		}
	})
}
