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

// maintained counts compactions.
type maintained struct {
	store.Admin
	store.Operator
	store.Cleaner
	compacted int
}

func (*maintained) DeletePrefix(context.Context, []byte) (int64, error) { return 0, nil }

func (m *maintained) Compact(context.Context) (int64, error) {
	m.compacted++
	return 1, nil
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

// If the store cannot delete by prefix, the cleaner deletes every key of the load, including those
// written in the warm-up.
func TestSweepsEveryKey(t *testing.T) {
	c := cleanerOf(t, scenario.Cleanup{})
	c.t.Worker = &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	c.t.Spec.Load = scenario.Load{
		Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Prefix: "/check/", KeySize: 16, ValueSize: 16, KeySpace: 5000,
		Distribution: scenario.Distribution{Name: "uniform"}, Connections: 2, Clients: 4, Total: 100, Warmup: 50 * time.Millisecond,
		Timeout: time.Minute, Seed: 1, TrialOptions: scenario.TrialOptions{Cleanup: scenario.Cleanup{Keys: true}},
	}
	a := c.t.newAssignment(c.access.Endpoints)
	c.admin, c.began = struct{ store.Admin }{c.admin}, true
	if _, err := load.Run(t.Context(), c.t.Worker, a, load.Reports{Second: func(s *measure.Second) { c.addOperations(s.Due) }}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.sweep(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if left, err := c.count(t.Context()); left != 0 || err != nil {
		t.Errorf("keys are left: %d, %v", left, err)
	}
}
