package consul

import (
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func serviceOp(kind kv.Kind, id string, s store.ServiceOp) store.Op {
	s.Name = []byte("web")
	return store.Op{Kind: kind, Consistency: kv.NoConsistency, Key: []byte(id), Value: []byte("what it says"), Service: &s}
}

// TestLiveServices checks that the official client finds the instances that the codec registers,
// whether healthy or not. It also checks that the codec's watcher reports instances that the
// official client registers, marks as failing, and deregisters.
func TestLiveServices(t *testing.T) {
	checkServices(t, start(t, storetest.Options{}).Access)
}

func TestNullServices(t *testing.T) {
	checkServices(t, store.Access{Endpoints: storetest.ServeNull(t, New(), 1, store.NullOptions{Memory: true})})
}

func checkServices(t *testing.T, access store.Access) {
	admin, err := New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	applied := int64(0)
	moved := func() { // Applied must also count the catalog's writes
		t.Helper()
		a := admin.(store.Applier)
		newest, err := a.Newest(t.Context())
		if got, failed := a.Applied(t.Context(), 0); err != nil || failed != nil || got < newest || newest <= applied {
			t.Errorf("the newest write is %d (previously %d), and the applied index is %d: %v, %v", newest, applied, got, err, failed)
		}
		applied = newest
	}
	c := official.Consul(t, access)
	w := storetest.Dial(t, New(), access)
	watcher := storetest.Dial(t, New(), access)
	watcher.Ready()
	watch := store.Op{Tag: watcher.NextTag(), Kind: kv.Watch, Key: []byte("web"), Watch: &store.WatchOp{Watcher: 7, Service: true, Mode: kv.QueryWatch}}
	watcher.Codec.Submit(&watch)
	if e := watcher.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.OperationDone })[0]; e.Outcome != kv.OK {
		t.Fatalf("%+v (%s)", e, e.Text)
	}
	last := int64(0)
	wantEvent := func(id string, there bool) {
		t.Helper()
		e := watcher.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchChange })[0]
		if string(e.Key) != id || (e.Version > 0) != there || e.Revision <= last || e.Watcher != 7 {
			t.Fatalf("got the event %+v, want service %s (registered: %v) after revision %d", e, id, there, last)
		}
		last = e.Revision
	}
	healthy := func(want ...string) {
		t.Helper()
		got, _, err := c.Health().Service("web", "", true, &api.QueryOptions{RequireConsistent: true})
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d instances, want %q: %v", len(got), want, err)
		}
		for i, id := range want {
			if got[i].Service.ID != id || got[i].Service.Port != 80 || got[i].Service.Meta["of"] != "what it says" {
				t.Errorf("%+v", got[i].Service)
			}
		}
	}
	w.Want(kv.OK, serviceOp(kv.Put, `i "1"`, store.ServiceOp{Passing: true}))
	healthy(`i "1"`)
	wantEvent(`i "1"`, true)
	moved()
	checks := serviceOp(kv.Range, `i "1"`, store.ServiceOp{Passing: true})
	if e := w.Want(kv.OK, checks); e.Count != 1 {
		t.Errorf("%d checks of the service pass, want 1", e.Count)
	}
	w.Want(kv.OK, serviceOp(kv.Put, `i "1"`, store.ServiceOp{CheckOnly: true}))
	healthy()
	moved()
	if e := w.Want(kv.OK, checks); e.Count != 0 {
		t.Errorf("%d checks of the critical service pass, want 0", e.Count)
	}
	wantEvent(`i "1"`, false)
	w.Want(kv.OK, serviceOp(kv.Put, `i "1"`, store.ServiceOp{CheckOnly: true, Passing: true}))
	healthy(`i "1"`)
	wantEvent(`i "1"`, true)
	node := serviceOp(kv.Range, `i "1"`, store.ServiceOp{})
	if e := w.Want(kv.OK, node); e.Count != 1 {
		t.Errorf("the service's node has %d services, want 1", e.Count)
	}

	theirs := &api.CatalogRegistration{
		Node: "i2", Address: "10.0.0.2", Service: &api.AgentService{ID: "i2", Service: "web"},
		Check: &api.AgentCheck{Node: "i2", CheckID: "c", ServiceID: "i2", Status: api.HealthPassing},
	}
	register := func(status string) {
		t.Helper()
		theirs.Check.Status = status
		if _, err := c.Catalog().Register(theirs, nil); err != nil {
			t.Fatal(err)
		}
	}
	register(api.HealthPassing)
	wantEvent("i2", true)
	register(api.HealthCritical)
	wantEvent("i2", false)
	register(api.HealthPassing)
	wantEvent("i2", true)
	if _, err := c.Catalog().Deregister(&api.CatalogDeregistration{Node: "i2"}, nil); err != nil {
		t.Fatal(err)
	}
	wantEvent("i2", false)
	moved()
	w.Want(kv.OK, serviceOp(kv.Delete, `i "1"`, store.ServiceOp{}))
	moved()
	healthy()
	wantEvent(`i "1"`, false)
	if e := w.Want(kv.OK, node); e.Count != 0 {
		t.Errorf("the deregistered node has %d services, want 0", e.Count)
	}
	if e := w.Want(kv.OK, checks); e.Count != 0 {
		t.Errorf("the deregistered node has %d checks, want 0", e.Count)
	}
	w.Want(kv.BadRequest, store.Op{Kind: kv.Put, Service: &store.ServiceOp{Name: []byte("web")}})
}
