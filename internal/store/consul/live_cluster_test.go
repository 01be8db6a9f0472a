package consul

import (
	"slices"
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
	l := startLive(t, 3, "", nil)
	a, err := New().Admin(store.Access{Endpoints: l.Endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, _ := testservers.Roles(t, a)
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

	for _, m := range s.Members {
		if m.Role == kv.Follower {
			if err := a.(store.LeaderMover).MoveLeader(t.Context(), m.ID); err != nil {
				t.Error(err)
			}
			break
		}
	}
	_, leader := testservers.Roles(t, a)
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

func TestLiveToken(t *testing.T) {
	const token = "6e756c6c-1111-2222-3333-444444444444"
	l := startLive(t, 1, token, func(c tree) {
		c["acl"] = tree{"enabled": true, "default_policy": "deny", "tokens": tree{"initial_management": token}}
	})
	for _, access := range []store.Access{{User: token}, {User: "u", Password: token}} {
		access.Endpoints = l.Endpoints
		w := storetest.Dial(t, New(), access)
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		a, err := New().Admin(access)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := a.Status(t.Context()); err != nil || s.Leader() == nil {
			t.Errorf("%+v %v", s, err)
		}
	}
	for _, access := range []store.Access{{}, {Password: "wrong\r\n"}} {
		access.Endpoints = l.Endpoints
		w := storetest.Dial(t, New(), access)
		w.Want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		if e := w.Do(store.Op{Kind: kv.Get, Key: []byte("k")}); e.Outcome != kv.Denied && e.Outcome != kv.Miss {
			t.Errorf("a read is let in: %+v", e)
		}
		w.Want(kv.Denied, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("k")}}})
	}
}
