package etcd

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

const lockedBy = "stmlock"

// locker runs concurrent transactions on one connection. Each concurrent transaction has its own
// session, and holds the lock while it runs.
type locker struct {
	w        *wire
	by       kv.Locker
	sessions []int64
	iso      kv.Isolation
	n        int
	seed     uint64
}

func newLocker(t *testing.T, l *live, by kv.Locker, atOnce, n int, seed uint64) *locker {
	t.Helper()
	a := store.Access{Endpoints: []string{l.endpoint}}
	k := &locker{w: dialWire(t, a, newCodecs(a)), by: by, n: n, seed: seed}
	for range atOnce {
		lease, err := l.client.Grant(longTimeout(t), 600)
		if err != nil {
			t.Fatal(err)
		}
		k.sessions = append(k.sessions, int64(lease.ID))
	}
	return k
}

// run executes the transactions. It returns how many retries and how many requests they needed.
func (k *locker) run() (retries, requests uint32) {
	w, r := k.w, rand.New(rand.NewPCG(5, k.seed))
	for w.Codec.Room() == 0 {
		if _, err := w.Turn(nil); err != nil {
			w.t.Error(err)
			return
		}
	}
	begun := 0
	begin := func(client uint32) {
		from, to := distinct(r)
		begun++
		w.Codec.Submit(&store.Op{
			Tag: client, Kind: kv.STM, STM: &store.STMOp{Isolation: k.iso, Edit: edit, Lock: []byte(lockedBy), Locker: k.by, Lease: k.sessions[client], Pairs: []store.Pair{{Key: []byte(account(from)), Value: []byte("-7")}, {Key: []byte(account(to)), Value: []byte("7")}}},
		})
	}
	for client := range k.sessions {
		begin(uint32(client))
	}
	for done := 0; done < k.n; done++ {
		e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.OperationDone })[0]
		if e.Outcome != kv.OK || e.Revision == 0 || e.Member == 0 || e.Term == 0 {
			w.t.Errorf("%+v (%s)", e, e.Text)
			return
		}
		retries += e.Retries
		requests += e.ExtraRequests + 1
		if begun < k.n {
			begin(e.Tag)
		}
	}
	return retries, requests
}

func (l *live) fillAccounts(t *testing.T) {
	t.Helper()
	for i := range accounts {
		if _, err := l.client.Put(longTimeout(t), account(i), strconv.Itoa(balance)); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *live) checkAccounts(t *testing.T) {
	t.Helper()
	sum := 0
	for i := range accounts {
		r, err := l.client.Get(longTimeout(t), account(i))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(r.Kvs[0].Value))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != accounts*balance {
		t.Errorf("the sum of all accounts is %d, want %d", sum, accounts*balance)
	}
}

// TestLiveMutexSeparatesTransactions transfers money between a few accounts. The transactions
// contain no comparisons, so only the lock isolates them from each other. Some of them use the
// codec's mutex, some the lock service, and some the official client's mutex. The sum of all
// accounts must stay constant, and no transaction may be retried.
func TestLiveMutexSeparatesTransactions(t *testing.T) {
	l := startLive(t, nil, false)
	l.fillAccounts(t)
	var all sync.WaitGroup
	const ours = 30
	lockers := []*locker{
		newLocker(t, l, kv.LockClient, 4, ours, 1),
		newLocker(t, l, kv.LockClient, 3, ours, 2),
		newLocker(t, l, kv.LockRPC, 2, ours, 3),
	}
	requests := make([]uint32, len(lockers))
	for i, k := range lockers {
		all.Go(func() {
			var retries uint32
			if retries, requests[i] = k.run(); retries != 0 {
				t.Errorf("locker %d: %d retries of transactions without comparisons", i, retries)
			}
		})
	}
	for worker := range 3 {
		session, err := concurrency.NewSession(l.client)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			r, m := rand.New(rand.NewPCG(7, uint64(worker))), concurrency.NewMutex(session, lockedBy)
			for range 10 {
				if err := l.transferUnder(t, m, r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	l.checkAccounts(t)
	for i, k := range lockers[:2] {
		// A transaction needs at least five requests: the lock, two reads, the commit, and the
		// release. A transaction that has to wait also looks for the key before its own, watches
		// that key, and checks that the key was deleted.
		if requests[i] <= ours*5 {
			t.Errorf("locker %d made %d requests, so no transaction waited for its lock", i, requests[i])
		}
		c := k.w.Codec.(*codec)
		if n := len(c.waits.watchers); n != 0 || c.stm.open != 0 || c.stm.releasing != 0 {
			t.Errorf("locker %d: at the end %d watchers and %d transactions are open, and %d transactions are being released", i, n, c.stm.open, c.stm.releasing)
		}
	}
	if r, err := l.client.Get(longTimeout(t), lockedBy, clientv3.WithPrefix()); err != nil || r.Count != 0 {
		t.Errorf("the keys of locks still exist: %v, %v", r, err)
	}
}

// transferUnder transfers money under the lock: it reads and writes two accounts in three
// requests.
func (l *live) transferUnder(t *testing.T, m *concurrency.Mutex, r *rand.Rand) error {
	ctx := longTimeout(t)
	if err := m.Lock(ctx); err != nil {
		return err
	}
	from, to := distinct(r)
	for name, change := range map[string]string{account(from): "-3", account(to): "3"} {
		old, err := l.client.Get(ctx, name)
		if err != nil {
			return err
		}
		if _, err := l.client.Put(ctx, name, transfer([]byte(change), string(old.Kvs[0].Value))); err != nil {
			return err
		}
	}
	return m.Unlock(ctx)
}

// TestLiveMutexWaitsForItsTurn checks that the codec waits for the official client's mutex, and
// that the official client waits for the codec's. Both must create keys of the same form.
func TestLiveMutexWaitsForItsTurn(t *testing.T) {
	l := startLive(t, nil, false)
	l.fillAccounts(t)
	session, err := concurrency.NewSession(l.client)
	if err != nil {
		t.Fatal(err)
	}
	m := concurrency.NewMutex(session, lockedBy)
	if err := m.Lock(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	k := newLocker(t, l, kv.LockClient, 3, 3, 1)
	w, c := k.w, k.w.Codec.(*codec)
	w.Ready()
	for i, session := range k.sessions {
		w.Codec.Submit(&store.Op{Tag: uint32(i), Kind: kv.STM, STM: &store.STMOp{Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: session, Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}}}})
	}
	var ended []store.Event
	turnUntil := func(done func() bool) {
		t.Helper()
		for !done() {
			events, err := w.Turn(nil)
			if err != nil {
				t.Fatal(err)
			}
			ended = append(ended, events...)
		}
	}
	turnUntil(func() bool { return len(c.waits.watchers) == 3 })
	if len(ended) != 0 {
		t.Fatalf("%+v", ended)
	}
	// Abandon one transaction, whose key is then deleted. This deletion must not let another
	// transaction acquire the lock.
	w.Codec.Cancel(1)
	turnUntil(func() bool { return c.stm.releasing == 0 })
	r, err := l.client.Get(longTimeout(t), lockedBy+"/", clientv3.WithPrefix())
	if err != nil || r.Count != 3 || len(ended) != 0 {
		t.Fatalf("%v, %v, %+v", r, err, ended)
	}
	for _, e := range r.Kvs[1:] {
		if string(e.Key) != lockedBy+"/"+strconv.FormatInt(e.Lease, 16) || len(e.Value) != 0 {
			t.Errorf("%v", e)
		}
	}
	if err := m.Unlock(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	turnUntil(func() bool { return len(ended) == 2 })
	for _, e := range ended {
		if e.Outcome != kv.OK {
			t.Errorf("%+v (%s)", e, e.Text)
		}
	}
	// Without competition, a transaction needs four requests: the lock, a read, the commit, and the
	// release.
	e := w.want(kv.OK, store.Op{Kind: kv.STM, STM: &store.STMOp{Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: k.sessions[0], Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}}}})
	if e.ExtraRequests != 3 {
		t.Errorf("the transaction took %d requests, want 4", e.ExtraRequests+1)
	}
}

// TestLiveMutexWithoutALease checks that a transaction fails, with an error that explains why,
// if its lease has ended or never existed.
func TestLiveMutexWithoutALease(t *testing.T) {
	l := startLive(t, nil, false)
	k := newLocker(t, l, kv.LockClient, 2, 0, 1)
	w, c := k.w, k.w.Codec.(*codec)
	op := store.Op{Kind: kv.STM, STM: &store.STMOp{Lock: []byte(lockedBy), Locker: kv.LockClient, Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}}}}
	op.STM.Lease = 12345
	if e := w.want(kv.BadRequest, op); string(e.Text) != "etcdserver: requested lease not found" {
		t.Errorf("%s", e.Text)
	}
	session, err := concurrency.NewSession(l.client)
	if err != nil {
		t.Fatal(err)
	}
	m := concurrency.NewMutex(session, lockedBy)
	if err := m.Lock(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	op.Tag, op.STM.Lease = 77, k.sessions[0]
	w.Codec.Submit(&op)
	for len(c.waits.watchers) == 0 {
		if _, err := w.Turn(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.client.Revoke(longTimeout(t), clientv3.LeaseID(op.STM.Lease)); err != nil {
		t.Fatal(err)
	}
	if err := m.Unlock(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Tag == 77 })[0]
	if e.Outcome != kv.BadRequest || len(e.Text) == 0 {
		t.Errorf("%+v (%s)", e, e.Text)
	}
	if r, err := l.client.Get(longTimeout(t), "a"); err != nil || r.Count != 0 {
		t.Errorf("the value was written without the lock: %v, %v", r, err)
	}
}
