package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// stuck removes nothing.
type stuck struct{ store.Admin }

func (stuck) DeletePrefix(context.Context, []byte) (int64, error) {
	return 0, errors.New("nothing is removed here")
}

// put writes a key.
func put(t *testing.T, of *Trial, key string) {
	t.Helper()
	op := store.Op{Kind: kv.Put, Key: []byte(key), Value: []byte("x")}
	access := of.Cluster.Access()
	if ev, err := (&engine.Dialer{Timeout: access.Timeout()}).Ask(t.Context(), access.Endpoints[0], of.Cluster.Store.Codecs(access), &op); err != nil {
		t.Fatalf("%+v, %v", ev, err)
	}
}

// A clean-up that fails is told, when its time is up.
func TestFailedCleanUpIsTold(t *testing.T) {
	endpoint := storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})[0]
	access := store.Access{Endpoints: []string{endpoint}}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	of := &Trial{Cluster: Cluster{Store: etcd.New(), Running: cluster.Attached{Via: access}}}
	of.Spec.Load.Prefix, of.Spec.Load.Cleanup = "/check/", scenario.Cleanup{Keys: true}
	put(t, of, "/check/mine")
	c := &cleaner{t: of, access: access, admin: stuck{admin}, patience: time.Second, began: true}
	defer c.close()
	out := c.run(nil)
	if out.Err() == nil || !strings.Contains(out.Err().Error(), "nothing is removed here") {
		t.Errorf("%+v", out)
	}
}

// maintained counts compactions.
type maintained struct {
	store.Admin
	store.Maintainer
	compacted int
}

func (*maintained) DeletePrefix(context.Context, []byte) (int64, error) { return 0, nil }

func (m *maintained) Compact(context.Context) (int64, error) {
	m.compacted++
	return 1, nil
}

// Where nothing was written, nothing is compacted.
func TestNothingIsReclaimedWhereNothingWasWritten(t *testing.T) {
	endpoint := storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})[0]
	access := store.Access{Endpoints: []string{endpoint}}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	of := &Trial{Cluster: Cluster{Store: etcd.New(), Running: cluster.Attached{Via: access}}}
	of.Spec.Load.Prefix, of.Spec.Load.Cleanup = "/check/", scenario.Cleanup{Keys: true, Compact: true}
	m := &maintained{Admin: admin}
	c := &cleaner{t: of, access: access, admin: m, patience: time.Minute}
	defer c.close()
	if out := c.run(nil); out.Err() != nil || m.compacted != 0 {
		t.Errorf("%+v after %d compactions", out, m.compacted)
	}
	c.began = true
	if out := c.run(nil); m.compacted != 1 || out.Err() != nil {
		t.Errorf("%+v after %d compactions", out, m.compacted)
	}
}

// A store that removes no prefixes has every key of the load deleted, those of its
// warm-up too.
func TestEveryKeyIsSwept(t *testing.T) {
	endpoint := storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})[0]
	access := store.Access{Endpoints: []string{endpoint}}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	worker := &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	of := &Trial{Cluster: Cluster{Store: etcd.New(), Running: cluster.Attached{Via: access}}, Worker: worker}
	l := &of.Spec.Load
	*l = scenario.Load{
		Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Prefix: "/check/", KeySize: 16, ValueSize: 16, KeySpace: 5000,
		Distribution: scenario.Distribution{Name: "uniform"}, Connections: 2, Clients: 4, Total: 100, Warmup: 50 * time.Millisecond,
		Timeout: time.Minute, Seed: 1, Cleanup: scenario.Cleanup{Keys: true},
	}
	a := of.assigned(access.Endpoints)
	c := &cleaner{t: of, access: access, admin: struct{ store.Admin }{admin}, patience: time.Minute, began: true}
	defer c.close()
	if _, err := load.Run(t.Context(), worker, a, load.Reports{Second: func(s *measure.Second) { c.took(s.Due) }}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.sweep(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if left, err := c.count(t.Context()); left != 0 || err != nil {
		t.Errorf("keys are left: %d, %v", left, err)
	}
}
