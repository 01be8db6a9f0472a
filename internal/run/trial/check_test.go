package trial

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	ops "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// If the history contains fewer operations than keys, `written` returns all keys that the load
// tried to write, whatever the outcomes of the writes were. Otherwise it returns nil.
func TestCollectsWrittenKeys(t *testing.T) {
	for _, test := range []struct {
		keys uint64
		want []uint64
	}{
		{keys: 5},
		{keys: 6, want: []uint64{1<<3 | 1<<5}},
		{keys: 130, want: []uint64{1<<3 | 1<<5, 1 << 6, 0}},
	} {
		h := &historian{
			t: &Trial{Spec: scenario.Trial{Load: scenario.Load{KeySpace: test.keys}}}, dir: t.TempDir(),
			header: ops.Header{Store: "etcd", Timeout: int64(time.Second)},
		}
		for i, all := range [][]ops.Op{
			{{Kind: kv.Put, Key: 3, Written: 1}, {Kind: kv.Get, Key: 4}, {Kind: kv.KeepAlive, Key: 2, LockChange: ops.Granted}},
			{{Kind: kv.Put, Key: 5, Written: 2, Outcome: kv.TimedOut}, {Kind: kv.Delete, Key: 70}},
		} {
			r := h.recorder(time.Now(), 0)
			for k := range all {
				all[k].Done = int64(i + k)
				r.Add(&all[k])
			}
			r.Flush()
		}
		if err := h.close(true); err != nil {
			t.Fatal(err)
		}
		got := h.written(t.Context())
		if len(got) != len(test.want) || h.bytes == 0 {
			t.Fatalf("with %d keys, the written keys are %x, and the history has %d bytes", test.keys, got, h.bytes)
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("with %d keys, the written keys are %x, want %x", test.keys, got, test.want)
			}
		}
	}
}
