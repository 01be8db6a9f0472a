package etcdv2

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// A cluster of three: every member answers every level, roles are read back, and
// when the leader dies the others go on.
func TestLiveCluster(t *testing.T) {
	l := startLive(t, 3, "127.31.1.3")
	a, err := New().Admin(store.Access{Endpoints: l.endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, leader := roles(t, a)
	if s.Version == "" || s.Term == 0 {
		t.Errorf("status %+v", s)
	}
	got, err := a.Members(t.Context())
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(l.endpoints)); err != nil || !slices.Equal(got, want) {
		t.Errorf("members %v, want %v: %v", got, want, err)
	}
	for i, e := range l.endpoints {
		w := dialWire(t, store.Access{Endpoints: []string{e}})
		key := []byte{'p', '/', byte('0' + i)}
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: key, Value: []byte("v")})
		for _, level := range levels {
			o := w.do(store.Op{Kind: kv.Get, Key: key, Consistency: level}).Outcome
			// A follower may not have applied what it passed on.
			if o != kv.OK && (level != kv.Local || o != kv.Miss) {
				t.Errorf("%s: %v read: %v", e, level, o)
			}
		}
	}
	if n, err := a.(store.Maintainer).DeletePrefix(t.Context(), []byte("p/")); n != 3 || err != nil {
		t.Errorf("%d keys were removed: %v", n, err)
	}
	i := slices.Index(l.endpoints, leader)
	_ = l.processes[i].Kill()
	survivor := dialWire(t, store.Access{Endpoints: []string{l.endpoints[(i+1)%3]}})
	last := kv.OK
	for began := time.Now(); ; {
		e := survivor.do(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		if e.Outcome == kv.OK {
			break
		}
		if len(e.Text) == 0 || time.Since(began) > 45*time.Second {
			t.Fatalf("a survivor answers %v %q", e.Outcome, e.Text)
		}
		if last != e.Outcome {
			last = e.Outcome
			t.Logf("without a leader: %v %s", e.Outcome, e.Text)
		}
	}
	s, _ = roles(t, a)
	if s.Members[i].Err == nil {
		t.Errorf("a dead member answers %+v", s.Members[i])
	}
}

// roles waits for a leader and its followers and returns the leader's endpoint.
func roles(t *testing.T, a store.Admin) (store.Status, string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < startTimeout; <-tick.C {
		s, err := a.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, m := range s.Members {
			if m.Err != nil || m.Role != kv.Unknown && m.ID != 0 && m.Name != "" {
				known++
			}
		}
		if leader := s.Leader(); leader != nil && known == len(s.Members) {
			return s, leader.Endpoint
		}
	}
	t.Fatal("no leader")
	return store.Status{}, ""
}

func TestAdminOfNothing(t *testing.T) {
	a, err := New().Admin(store.Access{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Status(t.Context()); err == nil {
		t.Error("nothing answers")
	}
	if _, err := a.Members(t.Context()); err == nil {
		t.Error("nothing tells its members")
	}
	m := a.(store.Maintainer)
	if _, err := m.DeletePrefix(t.Context(), []byte("/")); err == nil {
		t.Error("every key would be removed")
	}
	if _, err := m.Compact(t.Context()); err == nil {
		t.Error("there is nothing to compact")
	}
	if m.Defragment(t.Context()) == nil || m.MoveLeader(t.Context(), 1) == nil {
		t.Error("there is nothing to maintain")
	}
	if _, err := New().Admin(store.Access{}); err == nil {
		t.Error("an administration of nothing")
	}
}

// Over TLS the bytes are the same.
func TestTLS(t *testing.T) {
	h := httptest.NewTLSServer(nil)
	defer h.Close()
	pool := x509.NewCertPool()
	pool.AddCert(h.Certificate())
	endpoints := startNull(t, 1, store.NullOptions{Memory: true, TLS: &tls.Config{Certificates: h.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	access := store.Access{Endpoints: endpoints, TLS: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: New().Semantics().ALPN, MinVersion: tls.VersionTLS12}}
	w := dialWire(t, access)
	for _, v := range [][]byte{nil, []byte("v"), []byte(text(70_000))} {
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: v})
		if e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")}); string(e.Value) != string(v) {
			t.Errorf("%d bytes came back as %d", len(v), len(e.Value))
		}
	}
	a, err := New().Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if s, err := a.Status(t.Context()); err != nil || s.Leader() == nil {
		t.Errorf("%+v %v", s, err)
	}
}

func TestLiveUser(t *testing.T) {
	l := startLive(t, 1, "127.31.1.4")
	authRequest(t, l.endpoints[0], "/v2/auth/users/root", `{"user":"root","password":"secret"}`)
	authRequest(t, l.endpoints[0], "/v2/auth/enable", "")
	defer http.DefaultClient.CloseIdleConnections()
	w := dialWire(t, store.Access{Endpoints: l.endpoints, User: "root", Password: "secret"})
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	w = dialWire(t, store.Access{Endpoints: l.endpoints, User: "root", Password: "wrong"})
	w.want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	w.want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("k")})
	a, err := New().Admin(store.Access{Endpoints: l.endpoints, User: "root", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if got, err := a.Members(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

func authRequest(t *testing.T, endpoint, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+endpoint+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode >= 300 {
		t.Fatalf("%s: status %d", path, r.StatusCode)
	}
}
