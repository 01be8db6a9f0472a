package patroni_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const prefix = "/service/"

// Patroni clusters run on a real etcd, through its gateway and over gRPC (in CI, only one of them).
// The leases stay alive, the keys with these leases exist, and the watchers receive each write.
// When some leaders die, their leases expire, and each of their clusters elects a new leader.
func TestAgainstEtcd(t *testing.T) {
	t.Parallel()
	c := data.Config{Clusters: 6, Members: 3, WrittenClusters: 4, LeaderFailures: 2, LoopWait: time.Second, TTL: 4 * time.Second, RetryTimeout: time.Second, Seed: 3}
	for _, st := range settle.Sample(t, 1, []store.Store{etcdgateway.New(), etcd.New()}) {
		t.Run(st.Name(), func(t *testing.T) {
			endpoint := embedded.Etcd(t)
			res := send(t, st, endpoint, c, 12*time.Second)
			check(t, c, res)
			cl, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cl.Close() }()
			all, err := cl.Get(t.Context(), prefix, clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			leaders, members := map[int]int{}, 0
			for _, kv := range all.Kvs {
				n, ok := c.Number([]byte(prefix), kv.Key)
				if !ok {
					t.Errorf("etcd has the unexpected key %s", kv.Key)
					continue
				}
				cluster, k := int(n)/c.KeysPerCluster(), data.Key(int(n)%c.KeysPerCluster())
				if leased := k == data.Leader || k >= data.FirstMember; leased != (kv.Lease != 0) {
					t.Errorf("%s has the lease %d", kv.Key, kv.Lease)
				}
				if k == data.Leader {
					_, member, _ := data.ParseMemberName(kv.Value)
					leaders[cluster] = member
				}
				if k >= data.FirstMember {
					members++
				}
			}
			for cluster := range c.Clusters {
				leader, ok := leaders[cluster]
				if !ok || leader == 0 != (cluster >= c.LeaderFailures) {
					t.Errorf("cluster %d is led by %d, %v", cluster, leader, ok)
				}
			}
			if want := c.MemberCount() - c.LeaderFailures; members != want {
				t.Errorf("%d member keys, want %d", members, want)
			}
		})
	}
}

func check(t *testing.T, c data.Config, res *load.Result) {
	t.Helper()
	m := res.Measured
	sum := uint64(0)
	for _, call := range res.Calls {
		sum += call.Due
		if call.Failed() > 0 {
			t.Errorf("%s: %d calls due, some failed: %v %v", call.Name, call.Due, call.Outcomes, m.ErrorTexts)
		}
		bound := map[string]int64{"renew leader's lease": int64(c.RetryTimeout), "renew replica's lease": int64(c.RetryTimeout)}[call.Name]
		if call.Limit != bound || call.LateOrFailed() > call.Due {
			t.Errorf("%s: bound %v, %d late", call.Name, time.Duration(call.Limit), call.LateOrFailed())
		}
		if call.Name == "race for the leader's key" {
			if won := call.Outcomes[kv.OK]; won != uint64(c.LeaderFailures) || call.Outcomes[kv.Conflict] != uint64(c.LeaderFailures*(c.Members-2)) {
				t.Errorf("outcomes of the races: %v", call.Outcomes)
			}
		}
	}
	if sum != m.Due || len(res.Calls) != 7 {
		t.Errorf("%d calls were due, but the sum is %d for %d kinds", m.Due, sum, len(res.Calls))
	}
	// The expiry of a lease deletes two keys, and each member of the cluster receives both events.
	w, expired := m.Watching, uint64(c.LeaderFailures*c.Members*2)
	if w == nil || w.Expected == 0 || w.Delivered != w.Expected+expired || w.Foreign+w.Untimed+w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Impossible != 0 {
		t.Errorf("watch totals %+v", w)
	}
}

func send(t *testing.T, st store.Store, endpoint string, c data.Config, length time.Duration) *load.Result {
	t.Helper()
	res, err := sent(t, st, endpoint, c, length)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// sent sends a load and returns its result.
func sent(t *testing.T, st store.Store, endpoint string, c data.Config, length time.Duration) (*load.Result, error) {
	a := &load.Assignment{Store: st.Name(), Endpoints: []string{endpoint}, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, 100, length, prefix, c.MemberCount(), 10
	l.Clients = l.Connections
	l.Mix, l.Watch = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, &scenario.Watch{Watchers: 1, Streams: 1}
	w := &load.Local{Stores: func(string) (store.Store, error) { return st, nil }}
	setup := app.Setup{Length: length, Prefix: prefix, Connections: l.Connections}
	w.Script = data.NewWithConfig(c, setup)
	var err error
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		return nil, err
	}
	setup.PreloadResults = a.Preloaded.Versions
	w.Script = data.NewWithConfig(c, setup)
	return load.Run(t.Context(), w, a, load.Reports{})
}

// All leases are revoked during the load. Each member's next renewal fails. With the renewal after
// that, the member requests a new lease. Its key is then bound to the new lease.
func TestMembersReplaceRevokedLeases(t *testing.T) {
	endpoint := embedded.Etcd(t)
	cl, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Close() }()
	c := data.Config{Clusters: 2, Members: 2, WrittenClusters: 2, LoopWait: time.Second, TTL: 60 * time.Second, RetryTimeout: time.Second, Seed: 3}
	events := cl.Watch(t.Context(), prefix, clientv3.WithPrefix())
	revoked := make(chan int, 1)
	go func() {
		// Wait for the preloaded keys, and for some of the load's writes.
		for n := 0; n < c.Clusters*(4+c.Members)+3; {
			n += len((<-events).Events)
		}
		all, _ := cl.Leases(t.Context())
		for _, l := range all.Leases {
			_, _ = cl.Revoke(t.Context(), l.ID)
		}
		revoked <- len(all.Leases)
	}()
	res := send(t, etcdgateway.New(), endpoint, c, 6*time.Second)
	if n := <-revoked; n != c.MemberCount() {
		t.Errorf("%d leases revoked, want %d", n, c.MemberCount())
	}
	failed := uint64(0)
	for _, call := range res.Calls {
		if call.Limit > 0 {
			failed += call.Outcomes[kv.BadRequest]
		}
	}
	if failed != uint64(c.MemberCount()) {
		t.Errorf("%d renewals failed, want one for each of %d members: %v", failed, c.MemberCount(), res.Measured.ErrorTexts)
	}
	there, err := cl.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	leased := 0
	for _, kv := range there.Kvs {
		if kv.Lease != 0 {
			leased++
		}
	}
	if leased != c.MemberCount() {
		t.Errorf("%d keys have a lease, want %d, one per member", leased, c.MemberCount())
	}
}
