package registry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestLookup(t *testing.T) {
	for _, s := range All() {
		if got, err := Lookup(s.Name()); err != nil || got.Name() != s.Name() {
			t.Errorf("%s: %v", s.Name(), err)
		}
	}
	for name, want := range map[string]string{
		"ectd": "did you mean etcd?",
		"Etcd": "did you mean etcd?",
		"zzzz": "choose one of etcd",
		"":     "choose one of etcd",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestStoresAgreeWithTheirCapabilities(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if s.Name() == "" || seen[s.Name()] {
			t.Errorf("the store's name %q is empty or not unique", s.Name())
		}
		seen[s.Name()] = true
		t.Run(s.Name(), func(t *testing.T) { storetest.CheckCapabilities(t, s) })
	}
}

func TestCatalog(t *testing.T) {
	var c Catalog
	if got := strings.Join(c.Stores(), ","); got != "etcd,etcdv2,zookeeper,consul,zetcd,cetcd,etcd-gateway" {
		t.Errorf("the stores are %s", got)
	}
	for _, ok := range []struct {
		k kv.Kind
		c kv.Consistency
	}{{kv.Put, kv.NoConsistency}, {kv.Get, kv.Linearizable}, {kv.Range, kv.Local}, {kv.Delete, kv.NoConsistency}} {
		if err := c.Capabilities("etcd").CheckOperation("etcd", ok.k, ok.c); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []struct {
		store string
		k     kv.Kind
		c     kv.Consistency
		want  string
	}{
		{"etcd", kv.Get, kv.LeaderLease, "it supports linearizable (ReadIndex"},
		{"etcd", kv.Put, kv.Local, "remove the consistency"},
		{"etcd", kv.NumKinds, kv.NoConsistency, "its operations are put, get, range"},
		{"etcdv2", kv.Txn, kv.NoConsistency, "no operation txn"},
		{"cetcd", kv.Delete, kv.NoConsistency, "deletes nothing"},
		{"cetcd", kv.Get, kv.LeaderLease, "has no lease reads"},
		{"redis", kv.Put, kv.NoConsistency, "has no operation put"},
	} {
		if err := c.Capabilities(bad.store).CheckOperation(bad.store, bad.k, bad.c); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s %s %s: %v", bad.store, bad.k, bad.c, err)
		}
	}
	if c.Capabilities("etcd").MaxInFlight != 0 || c.Capabilities("consul").MaxInFlight != 1 {
		t.Error("the capabilities have a wrong limit of operations in flight")
	}
	settings, err := c.Settings("etcd", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(settings); err != nil || string(b) != "{}" {
		t.Errorf("settings %s, %v", b, err)
	}
	if _, err := c.Settings("redis", nil); err == nil {
		t.Error("Settings accepted an unknown store")
	}
}
