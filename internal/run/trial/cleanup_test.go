package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// stuck is a store that never deletes a key.
type stuck struct {
	store.Admin
	store.Cleaner
}

func (stuck) DeletePrefix(context.Context, []byte) (int64, error) {
	return 0, errors.New("nothing is removed here")
}

// putKey writes a key.
func putKey(t *testing.T, of *Trial, key string) {
	t.Helper()
	op := store.Op{Kind: kv.Put, Key: []byte(key), Value: []byte("x")}
	access := of.Cluster.Access()
	if ev, err := (&poll.Dialer{Timeout: access.Timeout()}).RunOperation(t.Context(), access.Endpoints[0], of.Cluster.Store.Codecs(access), &op); err != nil {
		t.Fatalf("%+v, %v", ev, err)
	}
}

// cleanerOf returns a cleaner for the keys with the prefix /check/ on a null server.
func cleanerOf(t *testing.T, cleanup scenario.Cleanup) *cleaner {
	t.Helper()
	access := store.Access{Endpoints: storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	of := &Trial{Cluster: Cluster{Store: etcd.New(), Given: access}}
	of.Spec.Load.Prefix, of.Spec.Load.Cleanup = "/check/", cleanup
	c := &cleaner{t: of, access: access, admin: admin, timeout: time.Minute}
	t.Cleanup(c.close)
	return c
}

// If a clean-up exceeds its time limit, the returned error reports this, in addition to the
// interruption of the trial.
func TestReportsAFailedCleanUp(t *testing.T) {
	c := cleanerOf(t, scenario.Cleanup{Keys: true})
	putKey(t, c.t, "/check/mine")
	c.admin, c.timeout, c.began = stuck{Admin: c.admin}, time.Second, true
	err := c.cleanUpFailed(nil, context.Canceled)
	var left *KeysLeftError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &left) || !strings.Contains(left.Error(), "nothing is removed here") {
		t.Errorf("%v", err)
	}
}

// maintained counts compactions. If failure is set, every compaction fails.
type maintained struct {
	store.Admin
	store.Operator
	store.Cleaner
	compacted int
	failure   error
}

func (*maintained) DeletePrefix(context.Context, []byte) (int64, error) { return 0, nil }

func (m *maintained) Compact(context.Context) (int64, error) {
	m.compacted++
	return 1, m.failure
}

// If only the compaction fails, the error does not claim that keys may exist.
func TestReportsAFailedCompaction(t *testing.T) {
	c := cleanerOf(t, scenario.Cleanup{Keys: true, Compact: true})
	c.admin, c.began = &maintained{Admin: c.admin, failure: errors.New("nothing is compacted here")}, true
	err := c.cleanUpFailed(nil, context.Canceled)
	var left *KeysLeftError
	if !errors.Is(err, context.Canceled) || errors.As(err, &left) || !strings.Contains(err.Error(), "the load's keys were removed, but the disk space was not freed: nothing is compacted here") {
		t.Errorf("the error is %v, want one that says that the disk space was not freed", err)
	}
}

// If nothing was written, nothing is compacted.
func TestDoesNotCompactIfNothingWasWritten(t *testing.T) {
	c := cleanerOf(t, scenario.Cleanup{Keys: true, Compact: true})
	m := &maintained{Admin: c.admin}
	c.admin = m
	if out := c.run(nil); out.Err() != nil || m.compacted != 0 {
		t.Errorf("%+v after %d compactions", out, m.compacted)
	}
	c.began = true
	if out := c.run(nil); m.compacted != 1 || out.Err() != nil {
		t.Errorf("%+v after %d compactions", out, m.compacted)
	}
}

// sweeping returns a cleaner that deletes keys one by one, and an assignment of puts.
func sweeping(t *testing.T, change func(*scenario.Load)) (*cleaner, *load.Assignment) {
	t.Helper()
	c := cleanerOf(t, scenario.Cleanup{})
	c.t.Worker = &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	c.t.Spec.Load = scenario.Load{
		Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Prefix: "/check/", KeySize: 16, ValueSize: 16, KeySpace: 5000,
		Distribution: scenario.Distribution{Name: "uniform"}, Connections: 2, Clients: 4, Total: 100,
		Timeout: time.Minute, Seed: 1, TrialOptions: scenario.TrialOptions{Cleanup: scenario.Cleanup{Keys: true}},
	}
	change(&c.t.Spec.Load)
	c.admin, c.began = struct{ store.Admin }{c.admin}, true
	return c, c.t.newAssignment(c.access.Endpoints)
}

// If the store cannot delete by prefix, the cleaner deletes every key of the load, including those
// written in the warm-up and all keys of a transaction.
func TestSweepsEveryKey(t *testing.T) {
	for name, change := range map[string]func(*scenario.Load){
		"puts with a warm-up": func(l *scenario.Load) { l.Warmup = 50 * time.Millisecond },
		"transactions":        func(l *scenario.Load) { l.Mix[0].Kind, l.TxnKeys = kv.Txn, 3 },
	} {
		c, a := sweeping(t, change)
		if _, err := load.Run(t.Context(), c.t.Worker, a, load.Reports{Second: func(s *measure.Second) { c.addOperations(s.Due) }}); err != nil {
			t.Fatal(err)
		}
		if written, err := c.count(t.Context()); written == 0 || err != nil {
			t.Errorf("%s: the load wrote %d keys: %v", name, written, err)
		}
		if _, err := c.sweep(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if left, err := c.count(t.Context()); left != 0 || err != nil {
			t.Errorf("%s: %d keys are left after one pass: %v", name, left, err)
		}
	}
}

// If the number of operations does not cover all keys, as after an interruption, the second pass
// deletes the remaining keys.
func TestSweepsKeysThatTheFirstPassMissed(t *testing.T) {
	c, a := sweeping(t, func(*scenario.Load) {})
	if _, err := load.Run(t.Context(), c.t.Worker, a, load.Reports{}); err != nil {
		t.Fatal(err)
	}
	c.addOperations(a.Load.Total / 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	deleted, err := c.remove(ctx, a)
	if left, counting := c.count(t.Context()); left != 0 || err != nil || counting != nil {
		t.Errorf("%d keys are left after %d deletions: %v, %v", left, deleted, err, counting)
	}
}
