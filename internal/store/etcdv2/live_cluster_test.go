package etcdv2

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
	"github.com/quorumbench/quorumbench/internal/testservers"
)

// A cluster of three: every member answers every level, roles are read back, and
// when the leader dies the others go on.
func TestLiveCluster(t *testing.T) {
	l := startLive(t, 3)
	a, err := New().Admin(store.Access{Endpoints: l.Endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, leader := testservers.Roles(t, a)
	if s.Version == "" || s.Term == 0 {
		t.Errorf("status %+v", s)
	}
	got, err := a.Members(t.Context())
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(l.Endpoints)); err != nil || !slices.Equal(got, want) {
		t.Errorf("members %v, want %v: %v", got, want, err)
	}
	for i, e := range l.Endpoints {
		w := storetest.Dial(t, New(), store.Access{Endpoints: []string{e}})
		key := []byte{'p', '/', byte('0' + i)}
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: key, Value: []byte("v")})
		for _, level := range levels {
			o := w.Do(store.Op{Kind: kv.Get, Key: key, Consistency: level}).Outcome
			// A follower may not have applied what it passed on.
			if o != kv.OK && (level != kv.Local || o != kv.Miss) {
				t.Errorf("%s: %v read: %v", e, level, o)
			}
		}
	}
	if n, err := a.(store.PrefixDeleter).DeletePrefix(t.Context(), []byte("p/")); n != 3 || err != nil {
		t.Errorf("%d keys were removed: %v", n, err)
	}
	i := slices.Index(l.Endpoints, leader)
	if err := l.Processes[i].Signal(t.Context(), host.Kill); err != nil {
		t.Fatal(err)
	}
	survivor := storetest.Dial(t, New(), store.Access{Endpoints: []string{l.Endpoints[(i+1)%3]}})
	last := kv.OK
	for { // Dial bounds it
		e := survivor.Do(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		if e.Outcome == kv.OK {
			break
		}
		if len(e.Text) == 0 {
			t.Fatalf("a survivor answers %v %q", e.Outcome, e.Text)
		}
		if last != e.Outcome {
			last = e.Outcome
			t.Logf("without a leader: %v %s", e.Outcome, e.Text)
		}
	}
	s, _ = testservers.Roles(t, a)
	if s.Members[i].Err == nil {
		t.Errorf("a dead member answers %+v", s.Members[i])
	}
}

func TestLiveUser(t *testing.T) {
	l := startLive(t, 1)
	authRequest(t, l.Endpoints[0], "/v2/auth/users/root", `{"user":"root","password":"secret"}`)
	authRequest(t, l.Endpoints[0], "/v2/auth/enable", "")
	defer http.DefaultClient.CloseIdleConnections()
	w := storetest.Dial(t, New(), store.Access{Endpoints: l.Endpoints, User: "root", Password: "secret"})
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	w = storetest.Dial(t, New(), store.Access{Endpoints: l.Endpoints, User: "root", Password: "wrong"})
	w.Want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	w.Want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("k")})
	a, err := New().Admin(store.Access{Endpoints: l.Endpoints, User: "root", Password: "secret"})
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
