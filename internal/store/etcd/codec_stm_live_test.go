package etcd

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

var isolations = map[kv.Isolation]concurrency.Isolation{
	kv.ReadCommitted: concurrency.ReadCommitted, kv.RepeatableReads: concurrency.RepeatableReads,
	kv.Serializable: concurrency.Serializable, kv.SerializableSnapshot: concurrency.SerializableSnapshot,
}

const (
	accounts = 6
	balance  = 1000
)

func account(i int) string { return fmt.Sprintf("account%d", i) }

// transfer returns the new value of an account: the old value plus a positive or negative amount.
// Both the codec and the official client use it.
func transfer(value []byte, old string) string {
	had, _ := strconv.Atoi(old)
	change, _ := strconv.Atoi(string(value))
	return strconv.Itoa(had + change)
}

func edit(_ int, value, read, write []byte) []byte {
	return append(write, transfer(value, string(read))...)
}

// TestLiveSTMConservesTheSum transfers money between a few accounts, in concurrent transactions
// of the codec and of the official client. At levels that compare versions, the sum of all
// accounts must stay constant, and transactions with conflicts must be retried.
func TestLiveSTMConservesTheSum(t *testing.T) {
	for _, iso := range settle.Sample(t, 1, []kv.Isolation{kv.RepeatableReads, kv.Serializable, kv.SerializableSnapshot}) {
		t.Run(iso.String(), func(t *testing.T) {
			l, w := dialLive(t)
			l.fillAccounts(t)
			var others sync.WaitGroup
			for worker := range 4 {
				others.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(worker)))
					for range 60 {
						from, to := distinct(r)
						_, err := concurrency.NewSTM(l.client, func(s concurrency.STM) error {
							s.Put(account(from), transfer([]byte("-3"), s.Get(account(from))))
							s.Put(account(to), transfer([]byte("3"), s.Get(account(to))))
							return nil
						}, concurrency.WithIsolation(isolations[iso]))
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			retries, requests := w.transfers(iso, 8, 400)
			others.Wait()
			l.checkAccounts(t)
			if retries == 0 || requests < 400*3+retries {
				t.Errorf("%d requests and %d retries", requests, retries)
			}
		})
	}
}

func distinct(r *rand.Rand) (from, to int) {
	from = r.IntN(accounts)
	return from, (from + 1 + r.IntN(accounts-1)) % accounts
}

// transfers runs n transactions on one connection, up to atOnce of them concurrently.
func (w *wire) transfers(iso kv.Isolation, atOnce, n int) (retries, requests uint32) {
	r := rand.New(rand.NewPCG(2, 3))
	w.Ready()
	begun := 0
	begin := func() {
		from, to := distinct(r)
		begun++
		w.Codec.Submit(&store.Op{
			Tag: uint32(begun), Kind: kv.STM, STM: &store.STMOp{Isolation: iso, Edit: edit, Pairs: []store.Pair{
				{Key: []byte(account(from)), Value: []byte("-7")}, {Key: []byte(account(to)), Value: []byte("7")},
			}},
		})
	}
	for range atOnce {
		begin()
	}
	for range n {
		e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.OperationDone })[0]
		if e.Outcome != kv.OK || e.Revision == 0 || e.Member == 0 || e.Term == 0 {
			w.t.Fatalf("%+v (%s)", e, e.Text)
		}
		retries += e.Retries
		requests += e.ExtraRequests + 1
		if begun < n {
			begin()
		}
	}
	return retries, requests
}

// TestLiveSTM checks a transaction without contention. It must send one request for each key and
// one for the commit. It must write only the keys for which it has a value, and create those keys
// if they do not exist.
func TestLiveSTM(t *testing.T) {
	l, w := dialLive(t)
	if _, err := l.client.Put(longTimeout(t), "a", "old"); err != nil {
		t.Fatal(err)
	}
	for iso := range kv.NumIsolations {
		value := []byte("new " + iso.String())
		e := w.want(kv.OK, store.Op{
			Kind: kv.STM, STM: &store.STMOp{Isolation: iso, Pairs: []store.Pair{
				{Key: []byte("a")}, {Key: []byte("b" + iso.String()), Value: value}, {Key: []byte("c"), Value: []byte{}},
			}},
		})
		if e.ExtraRequests != 3 || e.Retries != 0 {
			t.Errorf("%v: %d requests, %d retries", iso, e.ExtraRequests+1, e.Retries)
		}
		for key, want := range map[string]string{"a": "old", "b" + iso.String(): string(value), "c": ""} {
			r, err := l.client.Get(longTimeout(t), key)
			if err != nil || len(r.Kvs) != 1 || string(r.Kvs[0].Value) != want {
				t.Fatalf("%v: %s is %v, %v", iso, key, r, err)
			}
		}
	}
	// A transaction that only reads must also commit.
	if e := w.want(kv.OK, store.Op{Kind: kv.STM, STM: &store.STMOp{Isolation: kv.Serializable, Pairs: []store.Pair{{Key: []byte("a")}}}}); e.ExtraRequests != 1 {
		t.Errorf("%+v", e)
	}
}
