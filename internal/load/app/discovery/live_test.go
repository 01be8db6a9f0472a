package discovery_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// patience is the timeout of waits whose duration no test measures.
const patience = 2 * time.Minute

var (
	membership = discovery.Application{}
	catalog    = discovery.Application{Catalog: true}
)

func settings(a discovery.Application) application.Settings {
	d := a.Definition()
	s := d.Defaults()
	s["services"], s["instances-per-service"], s["discovery-clients"], s["services-per-client"] = 20, 5, 30, 4
	if s["instance-churn"] = 20; a.Catalog {
		s["instance-churn"], s["health-changes"] = 2, 2
	}
	return s
}

// send runs a load. It returns the watch totals and the number of successful calls of each kind. In
// membership, the load adds 80 instances within 4 s and removes 80 of the 100 existing instances.
// In a catalog, it adds 32 instances within 16 s and removes 32, and 32 instances fail and pass
// again.
func send(t *testing.T, a discovery.Application, st store.Store, endpoints []string) (w *measure.WatchTotals, done map[string]int) {
	t.Helper()
	length, connections := 4*time.Second, 4
	if a.Catalog {
		length, connections = 16*time.Second, 6
	}
	as := &load.Assignment{Store: st.Name(), Endpoints: endpoints, Load: scenario.DefaultLoad()}
	l := &as.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, 100, length, a.Definition().Prefix, connections, 10
	l.Mix, l.Watch, l.Timeout = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, &scenario.Watch{Watchers: 1, Streams: 1}, patience
	local := &load.Local{Stores: func(string) (store.Store, error) { return st, nil }}
	setup := app.Setup{Settings: settings(a), Length: length, Prefix: l.Prefix, Connections: l.Connections, Seed: 5}
	local.Script = a.Script(setup)
	var err error
	if as.Preloaded, err = local.Preload(t.Context(), as); err != nil {
		t.Fatal(err)
	}
	local.Script = a.Script(setup)
	res, err := load.Run(t.Context(), local, as, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if m := res.Measured; m.Due == 0 || m.Outcomes[kv.OK] != m.Due {
		t.Errorf("%d calls due, some failed: %v %v", m.Due, m.Outcomes, m.ErrorTexts)
	}
	done = map[string]int{}
	for _, c := range res.Calls {
		if c.Due == 0 || c.Outcomes[kv.OK] != c.Due {
			t.Errorf("%s: %d calls due, outcomes %v", c.Name, c.Due, c.Outcomes)
		}
		done[c.Name] = int(c.Outcomes[kv.OK])
	}
	// Each service has six clients.
	if w = res.Measured.Watching; w == nil || w.Watchers != 120 || w.Expected != 6*w.Acknowledged || w.Delivered == 0 ||
		w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Untimed+w.Foreign+w.Impossible != 0 {
		t.Fatalf("watch totals %+v", w)
	}
	return w, done
}

// sendMembership runs a load of membership and checks that every client receives every change.
func sendMembership(t *testing.T, endpoints []string) (done map[string]int) {
	t.Helper()
	w, done := send(t, membership, zookeeper.New(), endpoints)
	if w.Acknowledged != 160 || w.Delivered != w.Expected {
		t.Errorf("watch totals %+v", w)
	}
	return done
}

// Every call to the null server succeeds, and every client receives every change.
func TestOnTheNullServer(t *testing.T) {
	sendMembership(t, storetest.ServeNull(t, zookeeper.New(), 1, store.NullOptions{Memory: true}))
}

// After a load on a real server, the instances that existed before the load and were not removed
// still exist. The instances that the load bound to sessions no longer exist.
func TestOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	st := zookeeper.New()
	access := servers.StartMember(t, st, smalljvm.Settings())
	done := sendMembership(t, access.Endpoints)
	client := official.ZooKeeper(t, access)
	there := 0
	services, _, err := client.Children("/services")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range services {
		instances, _, err := client.Children("/services/" + name)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Fatal(err)
		}
		there += len(instances)
	}
	s, gone := settings(membership), done["deregister"]
	if before := s.Int("services") * s.Int("instances-per-service"); there != before-gone {
		t.Errorf("%d instances exist; %d existed before, and %d were removed", there, before, gone)
	}
}

// Every call to a real cluster succeeds, and every client receives every change. Afterwards,
// exactly the instances that were registered and not deregistered are healthy. In CI, the cluster
// has a single member.
func TestOnConsul(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	st, members := consul.New(), 1
	if settle.Long() {
		members = 3
	}
	l := servers.Start(t, st, servers.Cluster{
		Exec: servers.InstalledServer(t, st), Members: members, Settings: &consul.Settings{LogLevel: "warn"}, Ready: official.ConsulReady(t),
	})
	w, done := send(t, catalog, st, l.Endpoints)
	if w.Acknowledged < 100 || w.Delivered+w.Coalesced != w.Expected {
		t.Errorf("watch totals %+v", w)
	}
	s := settings(catalog)
	want := s.Int("services")*s.Int("instances-per-service") + done["register"] - done["deregister"]
	client, there := official.Consul(t, store.Access{Endpoints: l.Endpoints}), 0
	services, _, err := client.Catalog().Services(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range services {
		if name == "consul" {
			continue
		}
		healthy, _, err := client.Health().Service(name, "", true, &api.QueryOptions{RequireConsistent: true})
		if err != nil {
			t.Fatal(err)
		}
		there += len(healthy)
	}
	if there != want || done["check critical"] == 0 || done["check passing"] != done["check critical"] {
		t.Errorf("%d instances are healthy, want %d, after %v", there, want, done)
	}
}
