package consul

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// The null server does what Consul does, as the official client sees it.
func TestNullAgreesWithOfficialClient(t *testing.T) {
	storetest.HTTPNullAgrees(t, fixture(), 40, 9)
}

func TestNullAdmin(t *testing.T) {
	endpoints := storetest.ServeNull(t, New(), 3, store.NullOptions{Memory: true, User: "u:secret"})
	a, err := New().Admin(store.Access{Endpoints: endpoints, User: "u", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, err := a.Status(t.Context())
	if err != nil || s.Leader() == nil || s.Leader().Endpoint != endpoints[0] || s.Members[2].Role != kv.Follower || s.Members[1].ID == s.Members[2].ID {
		t.Errorf("%+v %v", s, err)
	}
	if m, err := a.Members(t.Context()); err != nil || strings.Join(store.Endpoints(m), " ") != strings.Join(endpoints, " ") {
		t.Errorf("%v %v", m, err)
	}
	w := storetest.Dial(t, New(), store.Access{Endpoints: endpoints[1:], Password: "secret"})
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("p/1")})
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("p/2")})
	if n, err := a.(store.Cleaner).DeletePrefix(t.Context(), []byte("/p/")); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	w = storetest.Dial(t, New(), store.Access{Endpoints: endpoints, Password: "wrong"})
	w.Want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("p/1")})
}

func TestNullErrors(t *testing.T) {
	storetest.HTTPErrors(t, New(), slices.Collect(maps.Keys(nullErrors())))
}

func TestNullFaults(t *testing.T) { storetest.HTTPFaults(t, New()) }

func TestAdminOfNothing(t *testing.T) { storetest.AdminOfNothing(t, New()) }

func BenchmarkNullRead(b *testing.B) { storetest.BenchmarkRead(b, New()) }
