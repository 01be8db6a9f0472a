package election_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	data "github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
)

// mortal returns settings with 3 offices, 3 candidates for each office, 2 leaders that die, and
// sessions with a TTL of 10 s. These tests wait for real sessions to expire, so they run in
// parallel.
func mortal() map[string]int {
	return map[string]int{"elections": 3, "candidates": 3, "tenure": 2, "failovers": 2, "ttl": 10}
}

// The sessions of dead leaders expire after their timeout. The dead candidates return with new
// connections and new sessions.
func TestLeaderDeathsOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	t.Parallel()
	st, app := zookeeper.New(), data.Application{}
	access := servers.StartMember(t, st, smalljvm.Settings())
	checkFailovers(t, sendOf(t, app, 0, st, access.Endpoints, mortal(), 22*time.Second), 6*time.Second, "race for the office")
	client := official.ZooKeeper(t, access)
	offices, _, err := client.Children("/" + data.RaceName)
	if err != nil || len(offices) != mortal()["elections"] {
		t.Fatalf("%d offices, error %v", len(offices), err)
	}
}

// The leases of dead leaders expire. The dead candidates stand for election again with new leases,
// so that each candidate has a key at the end.
func TestLeaderDeathsOnEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: leases live for 10 s")
	}
	t.Parallel()
	app := data.Application{Queue: true}
	st, endpoint := etcd.New(), embedded.Etcd(t)
	checkFailovers(t, sendOf(t, app, 1, st, []string{endpoint}, mortal(), 20*time.Second), 6*time.Second, "campaign")
	cl, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Close() }()
	all, err := cl.Get(t.Context(), data.QueueName+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	have := map[int]bool{}
	for _, kv := range all.Kvs {
		if c, _, ok := data.ParseCandidate(kv.Value); ok && kv.Lease != 0 {
			have[c] = true
		}
	}
	if want := mortal()["elections"] * mortal()["candidates"]; len(have) != want || len(all.Kvs) != want {
		t.Errorf("%d candidates have %d keys, want %d", len(have), len(all.Kvs), want)
	}
}

// The sessions of dead leaders end after at most twice their TTL. For another 15 s, no candidate
// can acquire the locks of these sessions. The other candidates learn this when their attempts
// fail.
func TestLeaderDeathsOnConsul(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	t.Parallel()
	st := consul.New()
	access := servers.StartMember(t, st, nil)
	res := sendOf(t, data.Application{}, 2, st, access.Endpoints, mortal(), 52*time.Second)
	checkFailovers(t, res, (2*10-5+15)*time.Second, "acquire")
	tried := row(t, res, "acquire")
	if least := uint64(mortal()["failovers"] * 2 * 2); tried.FailoverCalls < least || tried.Outcomes[kv.Conflict] < least {
		t.Errorf("candidates tried %d times in all failovers, want at least %d", tried.FailoverCalls, least)
	}
	client, err := api.NewClient(&api.Config{Address: access.Endpoints[0]})
	if err != nil {
		t.Fatal(err)
	}
	pairs, _, err := client.KV().List(data.RaceName+"/", nil)
	if err != nil || len(pairs) != mortal()["elections"] {
		t.Fatalf("%d offices, error %v", len(pairs), err)
	}
	for _, p := range pairs {
		if p.Session == "" {
			t.Errorf("no session holds %s", p.Key)
		}
	}
}

func row(t *testing.T, res *load.Result, name string) *measure.Calls {
	t.Helper()
	i := slices.IndexFunc(res.Calls, func(c measure.Calls) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the result has no row %q", name)
	}
	return &res.Calls[i]
}

// checkFailovers checks a load in which leaders die. No call fails. Each dead leader has a
// successor, which is elected no earlier than the dead leader's session can have ended. The other
// offices are handed over as usual. Each candidate stands for election once, and each dead
// candidate does so a second time. The loss of leaders causes further calls.
func checkFailovers(t *testing.T, res *load.Result, least time.Duration, stand string) {
	t.Helper()
	m := res.Measured
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if m.Outcomes[o] > 0 {
			t.Errorf("%d calls ended with the outcome %v: %s", m.Outcomes[o], o, m.ErrorTexts[o])
		}
	}
	want := uint64(mortal()["failovers"])
	for _, name := range []string{measure.Failover, "no leader after a death", "no leader after expiry"} {
		if c := row(t, res, name); c.Due != want || c.Done() != want {
			t.Errorf("%s: %d due, %d done, want %d", name, c.Due, c.Done(), want)
		}
	}
	if got := time.Duration(row(t, res, measure.Failover).Response.Min()); got < least {
		t.Errorf("a failover took %v, but a session lives for at least %v after its leader's death", got, least)
	}
	if c := row(t, res, measure.Handover); c.Due == 0 || c.Done() != c.Due {
		t.Errorf("%d handovers due, %d done", c.Due, c.Done())
	}
	first := want + uint64(mortal()["elections"]*mortal()["candidates"])
	if c := row(t, res, stand); c.Done()-c.HandoverCalls-c.FailoverCalls < first {
		t.Errorf("%d calls %q were done, %d of them in handovers and %d in failovers; want at least %d others, by new candidates", c.Done(), stand, c.HandoverCalls, c.FailoverCalls, first)
	}
	spans := uint64(0)
	for _, c := range res.Calls {
		spans += c.FailoverCalls
	}
	if spans == 0 {
		t.Error("no calls were counted for failovers")
	}
}
