package catalog_test

import (
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/catalog"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// patience bounds what no test measures.
const patience = 2 * time.Minute

// TestOnConsul sends a load to a real cluster. Every call succeeds, every client is told
// of every instance, and afterwards the healthy instances are those that have come and
// have not gone.
func TestOnConsul(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	st := consul.New()
	l := servers.Start(t, st, servers.Cluster{
		Exec: servers.Installed(t, st), Members: 3, Settings: &consul.Settings{LogLevel: "warn"}, Ready: official.ConsulReady(t),
	})
	res := send(t, l.Endpoints)
	check(t, res)
	s, done := settings(), map[string]int{}
	for _, c := range res.Calls {
		done[c.Name] = int(c.Outcomes[kv.OK])
	}
	want := s.Whole("services")*s.Whole("instances-per-service") + done[data.Register.String()] - done[data.Deregister.String()]
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
	if there != want || done[data.Fail.String()] == 0 || done[data.Pass.String()] != done[data.Fail.String()] {
		t.Errorf("%d instances are healthy, want %d, after %v", there, want, done)
	}
}

func settings() application.Settings {
	d := data.Application{}.Definition()
	s := d.Defaults()
	s["services"], s["instances-per-service"], s["discovery-clients"], s["services-per-client"] = 20, 5, 30, 4
	s["instance-churn"], s["health-changes"] = 2, 2
	return s
}

// In 16 s 32 instances come, and 32 of the 100 go that were there before, and 32 fail and
// pass again.
func send(t *testing.T, endpoints []string) *load.Result {
	t.Helper()
	const length = 16 * time.Second
	a := &load.Assignment{Store: consul.Name, Endpoints: endpoints, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.Connections, l.KeySpace = scenario.Recorded, 100, length, "qb-", 6, 10
	l.Mix, l.Watch, l.Timeout = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, &scenario.Watch{Watchers: 1, Streams: 1}, patience
	w := &load.Local{Stores: func(string) (store.Store, error) { return consul.New(), nil }}
	setup := app.Setup{Settings: settings(), Length: length, Prefix: l.Prefix, Connections: l.Connections, Seed: 5}
	w.Script = catalog.New(setup)
	var err error
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.Script = catalog.New(setup)
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
	t.Logf("%+v", w)
	// Each service has six clients.
	if w == nil || w.Watchers != 120 || w.Expected != 6*w.Acknowledged || w.Acknowledged < 100 || w.Delivered+w.Coalesced != w.Expected ||
		w.Delivered == 0 || w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Untimed+w.Foreign+w.Impossible != 0 {
		t.Errorf("watchers were told %+v", w)
	}
}
