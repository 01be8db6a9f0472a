package load_test

import (
	"maps"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// workersFor returns a worker of each kind that runs an application, by name: one in this process,
// one over a pipe, and an agent over mutual TLS. In CI, it returns only one of these workers.
func workersFor(t *testing.T, local func() load.Worker) map[string]load.Worker {
	workers := map[string]load.Worker{}
	for _, kind := range settle.Sample(t, 1, []string{"local", "piped", "agent"}) {
		switch kind {
		case "local":
			workers[kind] = local()
		case "piped":
			workers[kind] = agents.NewPiped(local())
		case "agent":
			workers[kind] = agents.Worker(t, nil)
		}
	}
	return workers
}

// Every kind of worker records an application's calls. After the load, it reads all keys of the
// application: the initial keys and those that the application created.
func TestApplicationsAreRecordedOnEveryWorker(t *testing.T) {
	t.Parallel()
	for name, w := range workersFor(t, local) {
		t.Run(name, func(t *testing.T) {
			endpoint := serve(t, "", store.NullOptions{Memory: true})
			l := base(kv.CAS, kv.NoConsistency)
			d := kubernetes.Application{}.Definition()
			settings := d.Defaults()
			maps.Copy(settings, application.Settings{"nodes": 20, "pods-per-node": 15, "churn": 20})
			l.Application = scenario.NewApplication(kubernetes.Application{}, settings)
			profile := kubernetes.Application{}.Profile(settings, 0)
			l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.KeySpace = scenario.Recorded, profile.PerSecond(), 3*time.Second, "/registry/", profile.Existing
			l.Connections, l.Clients, l.Threads, l.Verify, l.Preload = 4, 4, 1, true, true
			l.Watch = &scenario.Watch{Watchers: profile.Watchers, Streams: profile.Streams}
			p := taskFor(endpoint, l)
			a := &p.Assignment
			var err error
			if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			of, back := &recordings{t: t}, &recordings{t: t}
			res, err := load.Run(t.Context(), w, a, load.Reports{NewRecorder: of.history})
			if err != nil {
				t.Fatal(err)
			}
			kinds, made := map[kv.Kind]int{}, uint64(0)
			for i := range of.ops {
				o := &of.ops[i]
				if kinds[o.Kind]++; o.Kind == kv.CAS && o.Key >= l.KeySpace {
					made++
				}
			}
			if kinds[kv.CAS] == 0 || kinds[kv.Delete] == 0 || kinds[kv.Get] == 0 || kinds[kv.Range] == 0 || kinds[kv.Watch] == 0 || made == 0 {
				t.Errorf("%d calls were due; the recorded operations by kind are %v, want every kind and a created key", res.Measured.Due, kinds)
			}
			found, err := w.ReadBack(t.Context(), a, kv.Linearizable, back.history)
			if err != nil {
				t.Fatal(err)
			}
			there := uint64(0)
			for i := range back.ops {
				if o := &back.ops[i]; !o.Final || o.Kind != kv.Get {
					t.Fatalf("ReadBack recorded %+v, want a final get", o)
				} else if o.Outcome == kv.OK {
					there++
				}
			}
			if there != found || found <= l.KeySpace {
				t.Errorf("ReadBack found %d keys and recorded %d as existing; want equal numbers, and more than the %d initial keys", found, there, l.KeySpace)
			}
		})
	}
}

// The keys in a service catalog are not ordinary keys. Every kind of worker reads them with the
// requests that the application's script defines.
func TestCatalogKeysAreReadByTheirScript(t *testing.T) {
	t.Parallel()
	local := func() load.Worker {
		return &load.Local{Stores: func(string) (store.Store, error) { return consul.New(), nil }}
	}
	for name, w := range workersFor(t, local) {
		t.Run(name, func(t *testing.T) {
			l := base(kv.Put, kv.NoConsistency)
			d := discovery.Application{Catalog: true}.Definition()
			settings := d.Defaults()
			maps.Copy(settings, application.Settings{"services": 5, "instances-per-service": 10, "discovery-clients": 3, "services-per-client": 2, "instance-churn": 1, "health-changes": 0})
			l.Application = scenario.NewApplication(discovery.Application{Catalog: true}, settings)
			profile := discovery.Application{Catalog: true}.Profile(settings, 0)
			l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.KeySpace = scenario.Recorded, profile.PerSecond(), time.Second, "qb-", profile.Existing
			l.Connections, l.Clients, l.Threads, l.Verify, l.Preload = 4, 4, 1, true, true
			l.Watch = &scenario.Watch{Watchers: profile.Watchers, Streams: profile.Streams}
			p := taskOn(consul.New(), storetest.ServeNull(t, consul.New(), 1, store.NullOptions{Memory: true}), l)
			a := &p.Assignment
			var err error
			if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			back := &recordings{t: t}
			found, err := w.ReadBack(t.Context(), a, kv.Local, back.history)
			if err != nil {
				t.Fatal(err)
			}
			there, keys := uint64(0), map[uint64]bool{}
			for i := range back.ops {
				o := &back.ops[i]
				if !o.Final || o.Kind != kv.Exists || o.Consistency != kv.Local || keys[o.Key] {
					t.Fatalf("ReadBack recorded %+v, want one final, local read of the kind exists for each key", o)
				}
				if keys[o.Key] = true; o.Outcome == kv.OK {
					there++
				}
			}
			if there != found || found != 2*profile.Existing || uint64(len(keys)) != found+2*5 {
				t.Errorf("ReadBack found %d keys and recorded %d of the %d keys that it read as existing; want two existing keys for each of the %d instances", found, there, len(keys), profile.Existing)
			}
		})
	}
}

// elections runs candidates for three offices with every kind of worker. The ZooKeeper null server
// does not delete nodes when their sessions end. elections passes the recorded operations to the
// function `verify`.
func elections(t *testing.T, which election.Application, verify func(t *testing.T, w load.Worker, a *load.Assignment, ops []history.Op)) {
	local := func() load.Worker {
		return &load.Local{Stores: func(string) (store.Store, error) { return zookeeper.New(), nil }}
	}
	for name, w := range workersFor(t, local) {
		t.Run(name, func(t *testing.T) {
			l := base(kv.Put, kv.NoConsistency)
			d := which.Definition()
			settings := d.Defaults()
			maps.Copy(settings, application.Settings{"elections": 3, "candidates": 2})
			l.Application = scenario.NewApplication(which, settings)
			profile := which.Profile(settings, 0)
			l.Arrival, l.Rate.PerSecond, l.Duration, l.Prefix, l.KeySpace = scenario.Recorded, profile.PerSecond(), time.Second, "qb/", profile.Existing
			l.Connections, l.Clients, l.Threads, l.Verify, l.Preload = 6, 6, 1, true, true
			p := taskOn(zookeeper.New(), storetest.ServeNull(t, zookeeper.New(), 1, store.NullOptions{Memory: true, Script: "lie=outlive every 1"}), l)
			a := &p.Assignment
			var err error
			if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			of := &recordings{t: t}
			if _, err := load.Run(t.Context(), w, a, load.Reports{NewRecorder: of.history}); err != nil {
				t.Fatal(err)
			}
			verify(t, w, a, of.ops)
		})
	}
}

// Every kind of worker records sequential nodes, whose numbers the store assigns, and lists them
// after the load. It finds nodes that still exist although their sessions have ended.
func TestNumberedNodesAreListedOnEveryWorker(t *testing.T) {
	t.Parallel()
	elections(t, election.Application{Queue: true}, func(t *testing.T, w load.Worker, a *load.Assignment, ops []history.Op) {
		// The map `ended` contains, for each node, the session that created the node.
		back, ended := &recordings{t: t}, map[uint64]uint64{}
		for i := range ops {
			if o := &ops[i]; o.Kind == kv.Ephemeral {
				ended[o.Key] = o.Written
			}
		}
		found, err := w.ReadBack(t.Context(), a, kv.Linearizable, back.history)
		if err != nil {
			t.Fatal(err)
		}
		for i := range back.ops {
			if o := &back.ops[i]; !o.Final || o.Kind != kv.Get || o.Read == 0 || o.Read != ended[o.Key] {
				t.Errorf("the sessions that created the nodes are %v, but a node was read as %+v", ended, o)
			}
		}
		if len(ended) != 6 || len(back.ops) != 6 || found != 3 {
			t.Errorf("the ends of %d nodes are recorded, %d nodes were read, and ReadBack found %d; want 6, 6 and 3", len(ended), len(back.ops), found)
		}
	})
}

// If an earlier load left a node, every kind of worker records that the node may be deleted,
// because its session may end between the reads of two members.
func TestLeftoverNodesAreReadOnEveryWorker(t *testing.T) {
	t.Parallel()
	elections(t, election.Application{}, func(t *testing.T, w load.Worker, a *load.Assignment, _ []history.Op) {
		var err error
		a.Preloaded = nil // what follows is a different load
		if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		back, gone := &recordings{t: t}, map[uint64]bool{}
		found, err := w.ReadBack(t.Context(), a, kv.Linearizable, back.history)
		if err != nil {
			t.Fatal(err)
		}
		for i := range back.ops {
			switch o := &back.ops[i]; {
			case *o == history.PossibleDelete(o.Key, 0, 0, o.Done):
				gone[o.Key] = true
			case !o.Final || o.Kind != kv.Get || o.Outcome != kv.OK || o.ModRevision <= 0 || !gone[o.Key]:
				t.Errorf("the read of a leftover node is recorded as %+v", o)
			}
		}
		if len(gone) != 3 || len(back.ops) != 6 || found != 3 {
			t.Errorf("%d possible deletes are recorded, ReadBack found %d nodes, and the records are %+v; want 3, 3 and 6 records", len(gone), found, back.ops)
		}
	})
}
