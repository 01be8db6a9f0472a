package load_test

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Probes are in order: writes come before reads, and the delete comes last. Values have the load's
// size, and ranges end just after the probe's key.
func TestProbesCoverEachFormOutsideTheKeySpace(t *testing.T) {
	l := base(kv.Delete, kv.NoConsistency)
	l.Prefix, l.ValueSize, l.TxnKeys, l.Preload = "app/", 77, 3, true
	l.Mix = []scenario.Operation{
		{Kind: kv.Delete, Weight: 1}, {Kind: kv.Range, Consistency: kv.Local, Weight: 2}, {Kind: kv.Get, Consistency: kv.Local, Weight: 3},
		{Kind: kv.Txn, Weight: 1}, {Kind: kv.KeepAlive, Weight: 1}, {Kind: kv.Get, Consistency: kv.Local, Weight: 1}, {Kind: kv.Put, Weight: 9},
	}
	l.Watch = &scenario.Watch{KeysPerWatcher: 2, PrevKV: true}
	ops, err := load.ProbeOperations(&l, new(etcd.Store).Capabilities(), load.Lease{ID: 7, Name: "seven"})
	if err != nil {
		t.Fatal(err)
	}
	var forms []string
	for i := range ops {
		op := &ops[i]
		forms = append(forms, strings.TrimSpace(op.Kind.String()+" "+op.Consistency.String()))
		keys := load.ProbeKeys(op)
		if op.Kind == kv.KeepAlive {
			if op.Lease != 7 || string(op.LeaseName) != "seven" {
				t.Errorf("the lease is %d (%s)", op.Lease, op.LeaseName)
			}
			continue
		}
		for _, key := range append(keys, string(op.Key)) {
			if !strings.HasPrefix(key, "app/"+load.ProbeName) && op.Kind != kv.Txn {
				t.Errorf("the probe %v uses the key %q", op.Kind, key)
			}
		}
		if n := len(op.Value); op.Kind == kv.Put && n != 77 {
			t.Errorf("the value has %d bytes", n)
		}
		if op.Kind == kv.Txn && len(keys) != 3 {
			t.Errorf("the transaction writes %q", keys)
		}
		if r := op.Range; r != nil && string(r.End) != string(op.Key)+"\x00" {
			t.Errorf("the range ends before %q", r.End)
		}
	}
	const want = "put, txn, range local, get local, keepalive, get linearizable, delete, watch"
	if got := strings.ReplaceAll(strings.Join(forms, ", "), " none", ""); got != want {
		t.Errorf("the probes are %s, want %s", got, want)
	}
}
