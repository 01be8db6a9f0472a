package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
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

// maintained counts what maintains the store.
type maintained struct {
	store.Admin
	store.PrefixDeleter
	asked *int
}

func (m maintained) Compact(context.Context) (int64, error)              { *m.asked++; return 1, nil }
func (m maintained) CompactBehind(context.Context, int64) (int64, error) { *m.asked++; return 1, nil }
func (m maintained) Defragment(context.Context) error                    { *m.asked++; return nil }

// A load that never began leaves a cluster as it is: its history is others'.
func TestNothingWrittenIsNotCleanedUp(t *testing.T) {
	endpoint := storetest.ServeNull(t, etcd.New(), 1, store.NullOptions{Memory: true})[0]
	access := store.Access{Endpoints: []string{endpoint}}
	admin, err := etcd.New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	of := &Trial{Cluster: Cluster{Store: etcd.New(), Running: cluster.Attached{Via: access}}}
	of.Spec.Load.Prefix, of.Spec.Load.Cleanup = "/check/", scenario.Cleanup{Keys: true, Compact: true}
	asked := 0
	c := &cleaner{t: of, access: access, admin: maintained{admin, admin.(store.PrefixDeleter), &asked}, patience: time.Second}
	defer c.close()
	if out := c.run(nil); asked != 0 || out.Revision != 0 || out.Err() != nil {
		t.Errorf("asked %d times: %+v", asked, out)
	}
	c.began = true
	if out := c.run(nil); asked != 1 || out.Revision != 1 || out.Err() != nil {
		t.Errorf("what began was compacted %d times: %+v", asked, out)
	}
}
