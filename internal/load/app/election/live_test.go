package election_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
)

// patience is a timeout for waits. No test measures how long these waits take.
const patience = 2 * time.Minute

// both holds the two applications.
var both = map[string]data.Application{data.RaceName: {}, data.QueueName: {Queue: true}}

// Offices change hands on a real server. Afterwards the server has no node of a candidate, because
// the nodes are deleted when their sessions end.
func TestOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	st := zookeeper.New()
	access := servers.StartMember(t, st, smalljvm.Settings())
	for name, app := range both {
		t.Run(name, func(t *testing.T) {
			check(t, app, 0, send(t, app, 0, st, access.Endpoints))
			client := official.ZooKeeper(t, access)
			offices, _, err := client.Children("/" + name)
			if err != nil || len(offices) != settings()["elections"] {
				t.Fatalf("%d offices, error %v", len(offices), err)
			}
			for _, office := range offices {
				if left, _, err := client.Children("/" + name + "/" + office); err != nil || len(left) > 0 {
					t.Errorf("%s has nodes %q, error %v", office, left, err)
				}
			}
		})
	}
}

// Offices change hands on a real etcd. Afterwards it has keys with leases: the leaders' keys after
// a race, and the keys of all candidates after a queue.
func TestOnEtcd(t *testing.T) {
	st, endpoint := etcd.New(), embedded.Etcd(t)
	for name, app := range both {
		t.Run(name, func(t *testing.T) {
			check(t, app, 1, send(t, app, 1, st, []string{endpoint}))
			cl, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cl.Close() }()
			all, err := cl.Get(t.Context(), name+"/", clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			want := settings()["elections"]
			if app.Queue {
				want *= settings()["candidates"]
			}
			if len(all.Kvs) != want {
				t.Errorf("%d keys are there, want %d", len(all.Kvs), want)
			}
			for _, kv := range all.Kvs {
				if _, _, ok := data.ParseCandidate(kv.Value); !ok || kv.Lease == 0 || kv.CreateRevision != kv.ModRevision {
					t.Errorf("%s is %s, with lease %d", kv.Key, kv.Value, kv.Lease)
				}
			}
		})
	}
}

// Offices change hands on a real server, where the leader's session holds the office's lock.
func TestOnConsul(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	st, app := consul.New(), data.Application{}
	access := servers.StartMember(t, st, nil)
	check(t, app, 2, send(t, app, 2, st, access.Endpoints))
	client, err := api.NewClient(&api.Config{Address: access.Endpoints[0]})
	if err != nil {
		t.Fatal(err)
	}
	pairs, _, err := client.KV().List(data.RaceName+"/", nil)
	if err != nil || len(pairs) != settings()["elections"] {
		t.Fatalf("%d offices, error %v", len(pairs), err)
	}
	for _, p := range pairs {
		if _, _, ok := data.ParseCandidate(p.Value); !ok || p.Session == "" || p.LockIndex < 2 {
			t.Errorf("%s is %s, locked %d times, by %q", p.Key, p.Value, p.LockIndex, p.Session)
		}
	}
}

// settings returns settings with 10 offices, 4 candidates for each office, and a tenure of 1 s.
func settings() map[string]int { return map[string]int{"elections": 10, "candidates": 4, "tenure": 1} }

// send runs a load for 5 s.
func send(t *testing.T, app data.Application, way int, st store.Store, endpoints []string) *load.Result {
	t.Helper()
	return sendOf(t, app, way, st, endpoints, settings(), 5*time.Second)
}

func sendOf(t *testing.T, which data.Application, way int, st store.Store, endpoints []string, settings map[string]int, length time.Duration) *load.Result {
	t.Helper()
	d := which.Definition()
	s := d.Defaults()
	for key, n := range settings {
		s[key] = float64(n)
	}
	p := which.Profile(s, way)
	a := &load.Assignment{Store: st.Name(), Endpoints: endpoints, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, p.PerSecond(), length, d.Name+"/", p.Connections, p.Existing
	l.Mix, l.Timeout = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, patience
	w := &load.Local{Stores: func(string) (store.Store, error) { return st, nil }}
	setup := app.Setup{Settings: s, Way: way, Length: length, Prefix: l.Prefix, Connections: l.Connections, Seed: 5}
	w.Script = data.New(which, setup)
	var err error
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	setup.PreloadResults = a.Preloaded.Versions
	w.Script = data.New(which, setup)
	res, err := load.Run(t.Context(), w, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// check compares a load without faults with its profile. Every resignation leads to a new leader,
// and each handover takes the expected number of calls of each kind.
func check(t *testing.T, app data.Application, way int, res *load.Result) {
	t.Helper()
	m := res.Measured
	failed := uint64(0)
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		failed += m.Outcomes[o]
	}
	if m.Due == 0 || failed > 0 {
		t.Errorf("%d calls, %d failed: %v %v", m.Due, failed, m.Outcomes, m.ErrorTexts)
	}
	of := func(name string) *measure.Calls {
		i := slices.IndexFunc(res.Calls, func(c measure.Calls) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("the result has no row %q", name)
		}
		return &res.Calls[i]
	}
	handovers, vacant := of("handover"), of("no leader")
	if handovers.Due < 30 || handovers.Outcomes[kv.OK] != handovers.Due || vacant.Outcomes[kv.OK] != vacant.Due || vacant.Due < handovers.Due {
		t.Errorf("%d handovers due, %d done; %d vacancies due, %d done", handovers.Due, handovers.Outcomes[kv.OK], vacant.Due, vacant.Outcomes[kv.OK])
	}
	w, n := app.Way(way), settings()
	all := float64(n["elections"] * n["candidates"])
	// Without the candidates' first calls.
	at := [data.NumCalls]float64{data.Stand: all, data.Await: all - float64(n["elections"])}
	if app.Queue || w.WatchesSeparately {
		at[data.Look] = all
	}
	if w.WatchesSeparately {
		at[data.Await] = all
	}
	for call, each := range w.CallsPerHandover(float64(n["candidates"])) {
		if each == 0 {
			continue
		}
		c, want := of(w.Shapes[call].Name), at[call]+each*float64(handovers.Due)
		least := 0.8 * want
		if w.WatchesSeparately {
			// A watcher gets no event if another candidate has already acquired the lock.
			least = 0.4 * want
		}
		// On a busy machine, an office can become free again before all candidates have handled the
		// previous change.
		if got := float64(c.Done()); got < least || got > 1.3*want {
			t.Errorf("%s: %.0f calls in %d handovers, want %.0f", c.Name, got, handovers.Due, want)
		}
	}
}
