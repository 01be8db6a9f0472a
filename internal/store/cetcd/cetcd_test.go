package cetcd

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestCapabilities checks that cetcd lists only operations that work, explains those that are
// broken, and reuses none of Consul's descriptions.
func TestCapabilities(t *testing.T) {
	s := New().Capabilities()
	for _, k := range []kv.Kind{kv.Delete, kv.Txn} {
		if _, ok := s.Operations[k]; ok || s.NoOperations[k] == "" {
			t.Errorf("%v is supported, or no reason is given why it is not", k)
		}
	}
	if _, ok := s.Reads[kv.LeaderLease]; ok || s.NoReads[kv.LeaderLease] == "" {
		t.Error("lease reads are supported, or no reason is given why they are not")
	}
	if len(s.Reads) != 2 || s.Reads[kv.Linearizable] == "" || s.MaxInFlight != 1 {
		t.Errorf("%+v", s)
	}
}

func TestLaunch(t *testing.T) {
	place := kv.MemberPlace{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: t.TempDir()}
	spec := store.LaunchSpec{Cluster: "c", Self: "/self", Members: []kv.MemberPlace{place}}
	if _, err := New().Launch(spec); err == nil || !strings.Contains(err.Error(), "no registry has it: build it as described under stores in docs/reference/commands.md, and give the path of its binary") {
		t.Errorf("%v", err)
	}
	spec.Exec = "/opt/cetcd"
	l, err := New().Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Processes[0]
	want := []string{"-consuladdr", "127.0.0.1:3", "-etcd", "http://127.0.0.1:1"}
	if p.Path != "/opt/cetcd" || p.Endpoint != "127.0.0.1:3" || !slices.Equal(p.Args, want) || len(p.Backends) != 1 || p.Backends[0].Path != "/self" {
		t.Errorf("%+v", p)
	}
	spec.Members[0].Ports = []int{1, 2}
	if _, err := New().Launch(spec); err == nil || !strings.Contains(err.Error(), "needs 4 ports") {
		t.Errorf("%v", err)
	}
}

func TestAdminRefuses(t *testing.T) {
	for want, a := range map[string]store.Access{
		"cetcd does not support TLS":         {Endpoints: []string{"h:1"}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
		"cetcd has no users":                 {Endpoints: []string{"h:1"}, User: "u"},
		"no cetcd endpoint was given":        {},
		"no process listens at this address": {Endpoints: []string{"127.0.0.1:1"}},
		"it responded with status 404; is":   {Endpoints: []string{elsewhere(t)}},
	} {
		admin, err := New().Admin(a)
		if err == nil {
			_, err = admin.Status(t.Context())
			_ = admin.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// elsewhere returns the address of an HTTP server that is not cetcd.
func elsewhere(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
