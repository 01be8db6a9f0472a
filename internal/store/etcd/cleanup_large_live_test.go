package etcd

import (
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TestLiveLongKeysAreListed checks that KeysWithPrefix lists keys that do not fit into one message,
// and that these keys do not use up the admin's read limit.
func TestLiveLongKeysAreListed(t *testing.T) {
	l, _ := dialLive(t)
	a := adminOf(t, store.Access{Endpoints: []string{l.endpoint}}).(*admin)
	const n, perTxn = 6400, 128
	padding := strings.Repeat("k", 1<<10)
	for i := 0; i < n; i += perTxn {
		var puts []clientv3.Op
		for k := range perTxn {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("long/%05d/%s", i+k, padding), ""))
		}
		if _, err := l.client.Txn(longTimeout(t)).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	names, more, err := a.KeysWithPrefix(longTimeout(t), []byte("long/"), n)
	if err != nil || more || len(names) != n {
		t.Fatalf("KeysWithPrefix returned %d names, more: %v, %v; want %d names", len(names), more, err, n)
	}
	a.pace.mu.Lock()
	left := a.pace.bytesLeft
	a.pace.mu.Unlock()
	if left < readBurst/2 {
		t.Errorf("after the listing, %.0f bytes may be read without a delay, want at least %d", left, readBurst/2)
	}
	if names, more, err := a.KeysWithPrefix(longTimeout(t), []byte("long/"), 3); err != nil || !more || len(names) != 3 {
		t.Errorf("with the limit 3, KeysWithPrefix returned %d names, more: %v, %v", len(names), more, err)
	}
}

// TestLiveLargeValuesAreDeletedOneByOne checks that deleteEach deletes keys whose values do not fit
// into one message.
func TestLiveLargeValuesAreDeletedOneByOne(t *testing.T) {
	l, _ := dialLive(t)
	a := adminOf(t, store.Access{Endpoints: []string{l.endpoint}}).(*admin)
	c, err := a.ensureClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 100
	value := strings.Repeat("v", 64<<10)
	for i := range n {
		if _, err := l.client.Put(longTimeout(t), fmt.Sprintf("large/%d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	if deleted, err := a.deleteEach(longTimeout(t), c, "large/"); err != nil || deleted != n {
		t.Errorf("deleteEach deleted %d keys, %v; want %d", deleted, err, n)
	}
}
