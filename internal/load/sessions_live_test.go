package load_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// Each client of a closed loop renews its own lease. Afterwards every lease has its full TTL again,
// minus at most the duration of the load.
func TestClientsKeepTheirLeasesAlive(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	access := store.Access{Endpoints: []string{endpoint}, DialTimeout: patience}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	leaser := admin.(store.Leaser)
	const clients, ttl = 200, 3600
	ids, err := leaser.Grant(t.Context(), clients, ttl*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	left := func(id int64) int64 {
		t.Helper()
		r, err := c.TimeToLive(t.Context(), clientv3.LeaseID(id))
		if err != nil {
			t.Fatal(err)
		}
		return r.TTL
	}
	// Wait until the server reports that each lease has less time left.
	for _, id := range ids {
		eventually(t, "each lease to have two seconds less", func() bool { return left(id) < ttl-2 })
	}
	l := base(kv.KeepAlive, kv.NoConsistency)
	l.Connections, l.Clients, l.Total, l.Threads = 3, clients, 10*clients, 2
	p := taskFor(endpoint, l)
	p.Leases = ids
	began := time.Now()
	m := run(t, p).Measured
	if m.Outcomes[kv.OK] != l.Total {
		t.Fatalf("outcomes %v %v", m.Outcomes, m.ErrorTexts)
	}
	for i, id := range ids {
		if got, least := left(id), ttl-1-int64(time.Since(began).Seconds()); got < least {
			t.Errorf("client %d: the lease has %d s left, want at least %d", i, got, least)
		}
	}
	if alive, err := c.Leases(t.Context()); err != nil || len(alive.Leases) != clients {
		t.Fatalf("%d leases are alive, %v", len(alive.Leases), err)
	}
	if err := leaser.Revoke(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	m = run(t, p).Measured
	if m.Succeeded() > 0 || m.Outcomes[kv.BadRequest] != m.Due || m.ErrorTexts[kv.BadRequest] == "" {
		t.Errorf("renewals of revoked leases: outcomes %v %v", m.Outcomes, m.ErrorTexts)
	}
}

// Transactions use few keys, so that they conflict at every isolation level that detects conflicts.
// The number of requests must match the number of reads, commits and retries.
func TestSTMsRetryConflicts(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	for iso := range kv.NumIsolations {
		l := base(kv.STM, kv.NoConsistency)
		l.KeySpace, l.Prefix, l.Connections, l.Clients, l.Total = 6, "stm"+iso.String(), 2, 16, 150
		p := taskFor(endpoint, l)
		p.Load.STM = &scenario.STM{Isolation: iso, KeysPerTxn: 3, WritePercent: 70}
		m := run(t, p).Measured
		t.Logf("%v: %d transactions, %d extra requests, %d retries", iso, m.Done, m.ExtraRequests, m.Retries)
		if m.Failed() > 0 || m.Done != 150 {
			t.Fatalf("%v: outcomes %v %v", iso, m.Outcomes, m.ErrorTexts)
		}
		again := uint64(4) // the reads and the commit
		if iso >= kv.Serializable {
			again = 1 // the response to a conflict contains the data that the next try needs
		}
		if m.ExtraRequests != 3*150+again*m.Retries {
			t.Errorf("%v: %d extra requests for %d retries", iso, m.ExtraRequests, m.Retries)
		}
		if conflicts := iso != kv.ReadCommitted; conflicts != (m.Retries > 0) {
			t.Errorf("%v: %d retries", iso, m.Retries)
		}
	}
}

// Transactions that read an interval run concurrently with transactions that write.
func TestTxnReadsAndWrites(t *testing.T) {
	t.Parallel()
	l := base(kv.TxnGet, kv.Linearizable)
	l.KeySpace, l.RangeLimit, l.TxnKeys, l.Total = 50, 10, 2, 300
	l.Mix = append(l.Mix, l.Mix[0])
	l.Mix[1].Kind, l.Mix[1].Consistency = kv.Txn, kv.NoConsistency
	m := run(t, taskFor(embedded.Etcd(t), l)).Measured
	if m.Failed() > 0 || m.Done != 300 || len(m.Cells) != 2 {
		t.Errorf("outcomes %v %v in %d series", m.Outcomes, m.ErrorTexts, len(m.Cells))
	}
}

// With either kind of lock, transactions under the lock never conflict. The lock costs each
// transaction two more requests, plus those that it sends while it waits. Afterwards no client
// holds the lock.
func TestSTMUnderALock(t *testing.T) {
	t.Parallel()
	for _, locker := range []kv.Locker{kv.LockRPC, kv.LockClient} {
		t.Run(locker.String(), func(t *testing.T) { stmUnder(t, locker) })
	}
}

func stmUnder(t *testing.T, locker kv.Locker) {
	endpoint := embedded.Etcd(t)
	admin, err := etcd.New().Admin(store.Access{Endpoints: []string{endpoint}, DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	l := base(kv.STM, kv.NoConsistency)
	l.KeySpace, l.Connections, l.Clients, l.Total = 4, 2, 8, 100
	l.Timeout = patience
	p := taskFor(endpoint, l)
	p.Load.STM = &scenario.STM{Isolation: kv.RepeatableReads, KeysPerTxn: 2, WritePercent: 100, Locker: locker}
	granted := func() {
		t.Helper()
		if p.Leases, err = admin.(store.Leaser).Grant(t.Context(), l.Clients, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	granted()
	m := run(t, p).Measured
	exact := locker == kv.LockRPC
	if m.Failed() > 0 || m.Done != 100 || m.Retries != 0 || m.ExtraRequests < 100*4 || exact && m.ExtraRequests != 100*4 {
		t.Errorf("%d transactions, %d extra requests, %d retries: %v %v", m.Done, m.ExtraRequests, m.Retries, m.Outcomes, m.ErrorTexts)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if r, err := c.Get(t.Context(), "stmlock", clientv3.WithPrefix()); err != nil || r.Count != 0 {
		t.Errorf("the keys of the lock are %v, error %v; want none", r, err)
	}
	// Now some transactions time out while other clients hold the lock.
	p.Load.Timeout, p.Load.Total, p.Load.Duration = 3*time.Millisecond, 0, time.Second
	if _, err := load.Run(t.Context(), p.worker(), &p.Assignment, load.Reports{}); err != nil {
		t.Fatal(err)
	}
	// These transactions left keys of the lock behind. The store deletes these keys when their
	// leases are revoked.
	if err := admin.(store.Leaser).Revoke(t.Context(), p.Leases); err != nil {
		t.Fatal(err)
	}
	granted()
	p.Load.Timeout, p.Load.Total, p.Load.Duration = patience, 50, 0
	h := &recordings{t: t}
	p.Reports.NewRecorder = h.history
	if m := run(t, p).Measured; m.Failed() > 0 || m.Done != 50 {
		t.Errorf("after a load whose transactions timed out: outcomes %v %v", m.Outcomes, m.ErrorTexts)
	}
	recordedUnder(t, h.ops)
}

// recordedUnder checks that each transaction is recorded with the versions that it compared. It
// also checks that the holds of the lock are recorded and do not overlap.
func recordedUnder(t *testing.T, ops []history.Op) {
	writes, token, freed := map[int64]int{}, int64(0), int64(-1)
	held := map[uint32]*history.Op{}
	var holds [][2]*history.Op
	for i := range ops {
		switch o := &ops[i]; {
		case o.Kind == kv.STM:
			if writes[o.Revision]++; o.ContinuesPrevious != (writes[o.Revision] == 2) || o.Outcome != kv.OK || o.Revision <= o.Expected || o.Expected < 0 || o.Written == 0 || o.Member == 0 {
				t.Errorf("a transaction's operation is recorded as %+v", o)
			}
		case o.LockChange == history.Granted:
			held[o.Session] = o
		case o.LockChange == history.Released:
			holds = append(holds, [2]*history.Op{held[o.Session], o})
			delete(held, o.Session)
		}
	}
	if len(writes) != 50 || len(holds) != 50 || len(held) != 0 {
		t.Fatalf("%d transactions, %d complete holds and %d unfinished holds are recorded; want 50, 50 and 0", len(writes), len(holds), len(held))
	}
	slices.SortFunc(holds, func(a, b [2]*history.Op) int { return cmp.Compare(a[0].Done, b[0].Done) })
	for _, h := range holds {
		if h[0] == nil || h[0].ModRevision <= token || h[0].ModRevision != h[1].ModRevision || h[0].Written != h[1].Written || h[0].Done <= freed || h[1].Invoked < h[0].Done {
			t.Fatalf("after the hold with token %d, which was released at %d, the next hold is recorded as %+v, %+v", token, freed, h[0], h[1])
		}
		token, freed = h[0].ModRevision, h[1].Invoked
	}
}

// After a transaction under a lock has failed, an unanswered request may still end a later hold by
// the same client. So the ends of this client's later holds are not recorded.
func TestHoldsAfterAFailureHaveNoEnd(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "never every 60; delay=uniform(0ms,1ms)", store.NullOptions{Memory: true})
	l := base(kv.STM, kv.NoConsistency)
	l.KeySpace, l.Connections, l.Clients, l.Total, l.Timeout, l.ValueSize = 40, 2, 4, 60, time.Second, 32
	p := taskFor(endpoint, l)
	p.Load.STM = &scenario.STM{Isolation: kv.RepeatableReads, KeysPerTxn: 2, WritePercent: 50, Locker: kv.LockClient}
	admin, err := etcd.New().Admin(store.Access{Endpoints: []string{endpoint}, DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if p.Leases, err = admin.(store.Leaser).Grant(t.Context(), l.Clients, time.Hour); err != nil {
		t.Fatal(err)
	}
	h := &recordings{t: t}
	p.Reports.NewRecorder = h.history
	run(t, p)
	failed, granted, released := map[uint32]bool{}, 0, 0
	for i := range h.ops {
		switch o := &h.ops[i]; {
		case o.Kind == kv.STM && o.Outcome.Failed():
			failed[o.Session] = true
		case o.LockChange == history.Granted:
			granted++
		case o.LockChange == history.Released:
			if released++; failed[o.Session] {
				t.Errorf("the end of a hold is recorded for a client that failed earlier: %+v", o)
			}
		}
	}
	if len(failed) == 0 || granted <= released || released == 0 {
		t.Errorf("%d clients failed, %d locks were granted and %d were released", len(failed), granted, released)
	}
}
