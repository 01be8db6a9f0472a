package consul

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// A cluster of three: every member answers every level, roles are read back, and
// when the leader dies the others go on.
func TestLiveCluster(t *testing.T) {
	l := startLive(t, 3, "127.31.1.1", nil)
	a, err := New().Admin(store.Access{Endpoints: l.endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, _ := roles(t, a)
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

	for _, m := range s.Members {
		if m.Role == kv.Follower {
			if err := a.(store.Maintainer).MoveLeader(t.Context(), m.ID); err != nil {
				t.Error(err)
			}
			break
		}
	}
	_, leader := roles(t, a)
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
	for _, v := range [][]byte{nil, []byte("v"), []byte(message(70_000))} {
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

func TestLiveToken(t *testing.T) {
	const token = "6e756c6c-1111-2222-3333-444444444444"
	l := startLive(t, 1, "127.31.1.2", func(c tree) {
		c["-token"] = token
		c["acl"] = tree{"enabled": true, "default_policy": "deny", "tokens": tree{"initial_management": token}}
	})
	for _, access := range []store.Access{{User: token}, {User: "u", Password: token}} {
		access.Endpoints = l.endpoints
		w := dialWire(t, access)
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		a, err := New().Admin(access)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := a.Status(t.Context()); err != nil || s.Leader() == nil {
			t.Errorf("%+v %v", s, err)
		}
	}
	for _, access := range []store.Access{{}, {Password: "wrong\r\n"}} {
		access.Endpoints = l.endpoints
		w := dialWire(t, access)
		w.want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		if e := w.do(store.Op{Kind: kv.Get, Key: []byte("k")}); e.Outcome != kv.Denied && e.Outcome != kv.Miss {
			t.Errorf("a read is let in: %+v", e)
		}
		w.want(kv.Denied, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("k")}}})
	}
}
