package replay_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func consulClient(t *testing.T, address string) *api.Client {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The test records calls from Consul's official client, and then replays them on the same server,
// faster and with a different prefix.
func TestGuardsHoldAgainOnConsul(t *testing.T) {
	st := consul.New()
	address := member(t, st, &consul.Settings{LogLevel: "warn"})
	direct := consulClient(t, address)
	for _, name := range settle.Sample(t, 1, []string{"plain", "hashed"}) {
		redactor := &call.Redactor{}
		if name == "hashed" {
			redactor = call.NewRedactor()
		}
		t.Run(name, func(t *testing.T) {
			for i := range 5 { // these keys exist before the recording
				put(t, direct, fmt.Sprintf("registry/k%d", i), "earlier")
			}
			path := relayed(t, st, address, redactor, func(relay string) { changeConsul(t, consulClient(t, relay), name) })
			plan, o := resend(t, st, path, address, replay.Options{Speed: 10, Prefix: "again-" + name + "/", Salt: 7})
			if o.HeldInRecording < 60 || o.HeldInBoth*100 < o.HeldInRecording*99 || o.HeldInRecording == o.Guarded {
				t.Errorf("guards held in the replay: %+v", o)
			}
			if plan.PreloadCount() < 5 || len(plan.Omitted) != 2 {
				t.Errorf("%d keys and sessions are preloaded; not replayed: %v", plan.PreloadCount(), plan.Omitted)
			}
			if !redactor.Plain() {
				checkHidden(t, path, "registry", "list-", "made ", "secret")
				return
			}
			sameConsul(t, direct, "again-"+name+"/")
			p := profiled(t, path)
			if p.Operations[0].Kind != kv.CAS && p.Operations[0].Kind != kv.Get || p.Watchers != 1 {
				t.Errorf("%+v", p.Operations)
			}
		})
	}
}

func put(t *testing.T, c *api.Client, key, value string) {
	t.Helper()
	if _, err := c.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, nil); err != nil {
		t.Fatal(err)
	}
}

// changeConsul makes a call of each kind, and chains of guarded writes from several clients at
// once.
func changeConsul(t *testing.T, c *api.Client, name string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for client := range 3 {
		all.Go(func() { chain(t, c.KV(), client) })
	}
	all.Wait()
	// Read keys as a list, in which each key has its own index, and change these keys.
	for i := range 6 {
		put(t, c, fmt.Sprintf("list-%s/%d", name, i), strings.Repeat("v", 50+i))
	}
	pairs, _, err := c.KV().List("list-"+name+"/", &api.QueryOptions{AllowStale: false, RequireConsistent: true})
	must(err)
	for _, p := range pairs {
		p.Value = append(p.Value, "secret"...)
		if ok, _, err := c.KV().CAS(p, nil); err != nil || !ok {
			t.Errorf("CAS returned %v, error %v", ok, err)
		}
	}
	// Each transaction returns the index that the next transaction uses in its guard.
	txn := func(ops ...*api.KVTxnOp) (bool, *api.KVTxnResponse) {
		ok, answer, _, err := c.KV().Txn(ops, nil)
		must(err)
		return ok, answer
	}
	_, first := txn(&api.KVTxnOp{Verb: api.KVSet, Key: "list-" + name + "/0", Value: []byte("t")}, &api.KVTxnOp{Verb: api.KVCheckNotExists, Key: "list-" + name + "/none"})
	at := first.Results[0].ModifyIndex
	for _, want := range []bool{true, false} {
		if ok, _ := txn(&api.KVTxnOp{Verb: api.KVCAS, Key: "list-" + name + "/0", Value: []byte("u"), Index: at},
			&api.KVTxnOp{Verb: api.KVGet, Key: "list-" + name + "/1"}); ok != want {
			t.Errorf("the guards of a transaction held: %v", ok)
		}
	}
	_, _, err = c.KV().Keys("list-"+name+"/", "", &api.QueryOptions{AllowStale: true})
	must(err)
	got, _, err := c.KV().Get("list-"+name+"/2", nil)
	must(err)
	if ok, _, err := c.KV().DeleteCAS(got, nil); err != nil || !ok {
		t.Errorf("DeleteCAS returned %v, error %v", ok, err)
	}
	_, err = c.KV().DeleteTree("list-"+name+"/1", nil)
	must(err)
	// Sessions and locks.
	id, _, err := c.Session().Create(&api.SessionEntry{TTL: "60s", LockDelay: 1, Behavior: "release", Name: "secret"}, nil)
	must(err)
	lock := &api.KVPair{Key: "list-" + name + "/lock", Value: []byte("mine"), Session: id}
	ok, _, err := c.KV().Acquire(lock, nil)
	must(err)
	gone, _, err := c.KV().Release(lock, nil)
	must(err)
	_, _, err = c.Session().Renew(id, nil)
	must(err)
	if !ok || !gone {
		t.Errorf("the lock was acquired: %v, and released: %v", ok, gone)
	}
	_, err = c.Session().Destroy(id, nil)
	must(err)
	// The replay omits the following two calls.
	_, _, err = c.KV().Get("list-"+name+"/0", &api.QueryOptions{WaitIndex: 1, WaitTime: 1})
	must(err)
	_, err = c.Status().Leader()
	must(err)
}

// chain acts as one client: it reads keys, and then changes them with guards that contain the
// indexes from these reads.
func chain(t *testing.T, c *api.KV, client int) {
	r := rand.New(rand.NewPCG(1, uint64(client)))
	for n := range 40 {
		key := fmt.Sprintf("registry/k%d", (client+3*r.IntN(2))%5)
		o := &api.QueryOptions{AllowStale: n%3 == 0, RequireConsistent: n%3 == 1}
		got, _, err := c.Get(key, o)
		if err != nil {
			t.Error(err)
			return
		}
		if got == nil {
			got = &api.KVPair{Key: key}
		}
		got.Value = fmt.Appendf(nil, "made %d %d", client, n)
		if n%20 == 19 && got.ModifyIndex > 0 {
			_, _, err = c.DeleteCAS(got, nil)
		} else {
			_, _, err = c.CAS(got, nil)
		}
		if err != nil {
			t.Error(err)
			return
		}
		if n == 20 { // this index is out of date
			got.ModifyIndex = 3
			if ok, _, err := c.CAS(got, nil); ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
		}
	}
}

// sameConsul compares all keys that lack the prefix with all keys that have the prefix.
func sameConsul(t *testing.T, c *api.Client, prefix string) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	pairs, _, err := c.KV().List("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if key, ok := strings.CutPrefix(p.Key, prefix); ok {
			got[key] = string(p.Value)
		} else if !strings.HasPrefix(p.Key, "again-") && !strings.HasPrefix(p.Key, "list-hashed") {
			want[p.Key] = string(p.Value)
		}
	}
	if len(want) != len(got) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
	for key, value := range want {
		if now, ok := got[key]; !ok || now != value && value != "earlier" {
			t.Errorf("%s = %q became %q", key, value, now)
		}
	}
}
