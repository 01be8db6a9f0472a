package membership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/membership"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// patience bounds what no test measures.
const patience = 2 * time.Minute

// TestOnTheNullServer sends a load to the null server: every call succeeds, and every
// client is told of every instance.
func TestOnTheNullServer(t *testing.T) {
	check(t, send(t, storetest.ServeNull(t, zookeeper.New(), 1, store.NullOptions{Memory: true})))
}

// TestOnZooKeeper sends it to a real server. Afterwards the instances are there that
// were there before and have not gone, and none of those that ended with their sessions.
func TestOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	no := false
	st := zookeeper.New()
	c, err := cluster.Start(t.Context(), st, cluster.Spec{
		Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 1, Exec: servers.Installed(t, st), Dir: t.TempDir(),
		Settings: &zookeeper.Settings{Heap: "160m", ForceSync: &no},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	access := c.Access()
	res := send(t, access.Endpoints)
	check(t, res)
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
	gone := 0
	for _, c := range res.Calls {
		if c.Name == data.Deregister.String() {
			gone = int(c.Outcomes[kv.OK])
		}
	}
	s := settings()
	if before := s.Whole("services") * s.Whole("instances-per-service"); there != before-gone {
		t.Errorf("%d instances are there; %d were, and %d have gone", there, before, gone)
	}
}

func settings() application.Settings {
	d := data.Application{}.Definition()
	s := d.Defaults()
	s["services"], s["instances-per-service"], s["discovery-clients"], s["services-per-client"], s["instance-churn"] = 20, 5, 30, 4, 20
	return s
}

// In 4 s 80 instances come, and 80 of the 100 go that were there before.
func send(t *testing.T, endpoints []string) *load.Result {
	t.Helper()
	const length = 4 * time.Second
	a := &load.Assignment{Store: zookeeper.Name, Endpoints: endpoints, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, 100, length, "services/", 4, 10
	l.Mix, l.Watch, l.Timeout = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, &scenario.Watch{Watchers: 1, Streams: 1}, patience
	w := &load.Local{Stores: func(string) (store.Store, error) { return zookeeper.New(), nil }}
	setup := app.Setup{Settings: settings(), Length: length, Prefix: l.Prefix, Connections: l.Connections, Seed: 5}
	w.Script = membership.New(setup)
	var err error
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.Script = membership.New(setup)
	res, err := load.Run(t.Context(), w, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func check(t *testing.T, res *load.Result) {
	t.Helper()
	m := res.Measured
	if m.Due == 0 || m.Outcomes[kv.OK] != m.Due {
		t.Errorf("of %d calls not all succeeded: %v %v", m.Due, m.Outcomes, m.ErrorTexts)
	}
	for _, c := range res.Calls {
		if c.Due == 0 || c.Outcomes[kv.OK] != c.Due {
			t.Errorf("%s: of %d calls: %v", c.Name, c.Due, c.Outcomes)
		}
	}
	w := m.Watching
	// Each service has six clients.
	if w == nil || w.Watchers != 120 || w.Expected != 6*w.Acknowledged || w.Acknowledged != 160 || w.Delivered != w.Expected ||
		w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Untimed+w.Foreign+w.Impossible != 0 {
		t.Errorf("watchers were told %+v", w)
	}
}
