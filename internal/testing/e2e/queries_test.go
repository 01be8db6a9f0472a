//go:build linux

package e2e_test

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// TestQueriesThatWaitAreChecked checks that verification covers the blocking queries that watchers
// send, and transactions that run under a lock. Verification must report no violation of a correct
// null server.
func TestQueriesThatWaitAreChecked(t *testing.T) {
	t.Parallel()
	for _, st := range registry.All() {
		if _, ok := st.(store.NullServerProvider); !ok || st.Capabilities().Watches.Modes[kv.QueryWatch] == "" {
			continue
		}
		w := newWorld(t)
		endpoint := w.nullServer(t, "--protocol", st.Name(), "--script", "delay=uniform(0ms,1ms)")
		trial := w.bench(t, []string{endpoint}, exitDone, "put", "--store", st.Name(), "--total", "3000", "--conns", "4", "--clients", "4", "--key-space-size", "10",
			"--val-size", "32", "--verify", "--watchers", "20", "--keys-per-watcher", "3")
		if a := trial.Verification; a == nil || a.Failure != "" || len(a.WrongByKind) > 0 || a.Watches == nil || a.Watches.Events == 0 {
			t.Errorf("checked so: %+v", a)
		}
		if got := trial.Watch; got == nil || got.Lost+got.Duplicated+got.Reordered > 0 || got.Delivered+got.Coalesced != got.Expected {
			t.Errorf("watchers got %+v", got)
		}
		trial = w.bench(t, []string{endpoint}, exitDone, "stm", "--store", st.Name(), "--total", "300", "--clients", "6", "--keys", "10",
			"--keys-per-txn", "2", "--txn-wr-percent", "100", "--stm-locker", "lock-client", "--val-size", "32", "--verify")
		if a := trial.Verification; a == nil || a.Failure != "" || len(a.WrongByKind) > 0 || a.Locks == nil || a.Locks.Acquisitions < 300 {
			t.Errorf("checked so: %+v", a)
		}
	}
}
