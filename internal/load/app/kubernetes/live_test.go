package kubernetes_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

const prefix = "/registry/"

// TestAgainstEtcd sends the load of a small Kubernetes cluster to a real etcd. In each transaction,
// the comparison succeeds. After the load, etcd contains the expected objects, with leases for the
// objects that need one. The watchers receive an event for each write, and the history is
// compacted.
func TestAgainstEtcd(t *testing.T) {
	endpoint := embedded.Etcd(t)
	c := kubernetes.Config{Nodes: 15, PodsPerNode: 20, Churn: 5, Seed: 3, CompactInterval: time.Second, ListInterval: 2 * time.Second}
	const length = 4 * time.Second
	first, res := send(t, endpoint, c, length)
	check(t, first, res)

	cl, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Close() }()
	calls := callsOf(res)
	for _, of := range []struct {
		path        string
		there       uint64
		more, fewer string
		leased      bool
	}{
		{"pods/", 15 * 20, "create pod", "delete pod", false},
		{"events/", 0, "create event", "", true},
		{"leases/", 15 + 3, "", "", false},
		{"minions/", 15, "", "", false},
	} {
		got, err := cl.Get(t.Context(), prefix+of.path, clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		want := of.there + calls[of.more].Outcomes[kv.OK] - calls[of.fewer].Outcomes[kv.OK]
		if uint64(len(got.Kvs)) != want {
			t.Errorf("etcd has %d keys below %s, want %d", len(got.Kvs), of.path, want)
		}
		for _, kv := range got.Kvs {
			if (kv.Lease != 0) != of.leased {
				t.Errorf("%s has the lease %d", kv.Key, kv.Lease)
			}
		}
	}
	mark, err := cl.Get(t.Context(), "compact_rev_key")
	if err != nil || len(mark.Kvs) != 1 || mark.Kvs[0].Version != 3 {
		t.Errorf("the compaction key is %v, %v", mark, err)
	}
	if _, err := cl.Get(t.Context(), prefix, clientv3.WithRev(1)); err == nil {
		t.Error("the history is not compacted")
	}

	// A second load on the same store finds the objects that the first load left.
	_, res = send(t, endpoint, c, length)
	check(t, first, res)
}

func callsOf(res *load.Result) map[string]measure.Calls {
	calls := map[string]measure.Calls{"": {}}
	for _, c := range res.Calls {
		calls[c.Name] = c
	}
	return calls
}

func check(t *testing.T, s *kubernetes.Script, res *load.Result) {
	t.Helper()
	m := res.Measured
	if m.Outcomes[kv.OK] != m.Due {
		t.Errorf("some of %d due calls failed: %v %v", m.Due, m.Outcomes, m.ErrorTexts)
	}
	sum := uint64(0)
	for _, c := range res.Calls {
		if sum += c.Due; c.Outcomes[kv.OK] != c.Due {
			t.Errorf("%s: some of %d due calls failed: %v", c.Name, c.Due, c.Outcomes)
		}
	}
	if planned := uint64(len(s.Pacer().(pace.Listed))); sum != m.Due || planned != sum {
		t.Errorf("%d calls were due, %d by their kinds, %d planned", m.Due, sum, planned)
	}
	w := m.Watching
	if w == nil || w.Expected == 0 || w.Delivered != w.Expected || w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Untimed+w.Foreign != 0 {
		t.Errorf("watchers received %+v", w)
	}
}

func send(t *testing.T, endpoint string, c kubernetes.Config, length time.Duration) (*kubernetes.Script, *load.Result) {
	t.Helper()
	return sendFrom(t, endpoint, c, length, nil)
}

// sendFrom sends a load. It calls `begin` when the objects that exist at the start of the load have
// been written.
func sendFrom(t *testing.T, endpoint string, c kubernetes.Config, length time.Duration, begin func()) (*kubernetes.Script, *load.Result) {
	t.Helper()
	a := &load.Assignment{Store: "etcd", Endpoints: []string{endpoint}, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, 100, length, prefix, 4, 10
	l.Timeout = time.Minute // no call may time out on a busy machine
	l.Mix, l.Watch = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, &scenario.Watch{Watchers: 1, Streams: 1}
	w := &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	setup := app.Setup{Length: length, Prefix: prefix, Connections: l.Connections}
	w.Script = kubernetes.NewWithConfig(c, setup)
	var err error
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if begin != nil {
		begin()
	}
	setup.PreloadResults = a.Preloaded.Versions
	script := kubernetes.NewWithConfig(c, setup)
	w.Script = script
	res, err := load.Run(t.Context(), w, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	return script, res
}
