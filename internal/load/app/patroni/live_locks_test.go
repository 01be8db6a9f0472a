package patroni_test

import (
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

func startConsul(t *testing.T) (endpoint string) {
	t.Helper()
	st := consul.New()
	return servers.Start(t, st, servers.Cluster{
		Exec: servers.InstalledServer(t, st), Members: 1, Settings: &consul.Settings{LogLevel: "warn"}, Ready: official.ConsulReady(t),
	}).Endpoints[0]
}

// Patroni clusters run on a real Consul. The members' sessions stay alive and hold the members'
// keys, and the replicas' queries report the leader. When some leaders die, their sessions expire,
// and each of their clusters elects a new leader.
func TestAgainstConsul(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	t.Parallel()
	endpoint := startConsul(t)
	// 20 s is the shortest TTL that a session can have in the way Locks.
	c := data.Config{Way: data.Locks, Clusters: 6, Members: 3, WrittenClusters: 4, LeaderFailures: 2, LoopWait: time.Second, TTL: 20 * time.Second, RetryTimeout: time.Second, Seed: 3}
	res := send(t, consul.New(), endpoint, c, 28*time.Second)
	ended(t, &c, res, 7)
	w := res.Measured.Watching
	// Each of the two queries in a cluster reports the new leader. Each query also reports the
	// deletion of the leader's key, unless another member takes the key before the query returns.
	if w == nil || w.Watchers != 2*c.Clusters || w.Expected != uint64(2*c.LeaderFailures) || w.Delivered < w.Expected || w.Delivered > 2*w.Expected ||
		w.Foreign+w.Untimed+w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Impossible != 0 {
		t.Errorf("watch totals %+v", w)
	}
	client := official.Consul(t, store.Access{Endpoints: []string{endpoint}})
	all, _, err := client.KV().List("service/", &api.QueryOptions{RequireConsistent: true})
	if err != nil {
		t.Fatal(err)
	}
	var there keysThere
	for _, pair := range all {
		there.add(t, &c, pair.Key, pair.Value, pair.Session != "")
	}
	there.check(t, &c)
}

// ended checks the outcomes of the calls in a load with failovers. The parameter `kinds` is the
// expected number of different kinds of calls.
func ended(t *testing.T, c *data.Config, res *load.Result, kinds int) {
	t.Helper()
	sum := uint64(0)
	for _, call := range res.Calls {
		sum += call.Due
		if call.Failed() > 0 {
			t.Errorf("%s: %d calls due, some failed: %v %v", call.Name, call.Due, call.Outcomes, res.Measured.ErrorTexts)
		}
		if call.Name != c.Way.CallName(data.Race) {
			continue
		}
		if won := call.Outcomes[kv.OK]; won != uint64(c.LeaderFailures) || call.Outcomes[kv.Conflict] != uint64(c.LeaderFailures*(c.Members-2)) {
			t.Errorf("outcomes of the races: %v", call.Outcomes)
		}
	}
	if sum != res.Measured.Due || len(res.Calls) != kinds {
		t.Errorf("%d calls were due, but the sum is %d for %d kinds", res.Measured.Due, sum, len(res.Calls))
	}
}

// keysThere describes the keys in a store after a load.
type keysThere struct {
	leaders map[int]int // by cluster
	members int
}

// add adds a key, without its leading slash. The parameter `session` is true if a session holds the
// key.
func (k *keysThere) add(t *testing.T, c *data.Config, key string, value []byte, session bool) {
	t.Helper()
	n, ok := c.Number([]byte(prefix), []byte("/"+key))
	if !ok {
		t.Errorf("the store has the unexpected key %s", key)
		return
	}
	if k.leaders == nil {
		k.leaders = map[int]int{}
	}
	cluster, which := int(n)/c.KeysPerCluster(), data.Key(int(n)%c.KeysPerCluster())
	if held := which == data.Leader || which >= data.FirstMember; held != session {
		t.Errorf("%s has a session: %v", key, session)
	}
	if which == data.Leader {
		_, k.leaders[cluster], _ = data.ParseMemberName(value)
	}
	if which >= data.FirstMember {
		k.members++
	}
}

func (k *keysThere) check(t *testing.T, c *data.Config) {
	t.Helper()
	for cluster := range c.Clusters {
		leader, ok := k.leaders[cluster]
		if !ok || leader == 0 != (cluster >= c.LeaderFailures) {
			t.Errorf("cluster %d is led by %d, %v", cluster, leader, ok)
		}
	}
	if want := c.MemberCount() - c.LeaderFailures; k.members != want {
		t.Errorf("%d member keys, want %d", k.members, want)
	}
}
