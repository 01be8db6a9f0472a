package storetest

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// HTTPStore is a store that speaks HTTP/1.1 and has a null server.
type HTTPStore interface {
	store.Store
	store.NullServerProvider
}

// CheckHTTPNullServer tests a null server that speaks HTTP/1.1. The parameter `errors` lists the
// names of the errors that its scripts support.
func CheckHTTPNullServer(t *testing.T, st HTTPStore, errors []string) {
	t.Run("administration", func(t *testing.T) { HTTPNullAdmin(t, st) })
	t.Run("errors", func(t *testing.T) { HTTPErrors(t, st, errors) })
	t.Run("faults", func(t *testing.T) { HTTPFaults(t, st) })
	t.Run("administration of nothing", func(t *testing.T) { CheckAdminWithoutServer(t, st) })
}

// HTTPErrors checks that a script with error=NAME causes the outcome NAME, for each of the given
// names. The exception is the name unavailable, which causes the outcome store_error.
func HTTPErrors(t *testing.T, st HTTPStore, names []string) {
	t.Helper()
	if len(names) == 0 {
		t.Fatal("the store has no error names")
	}
	for _, name := range names {
		w := Dial(t, st, store.Access{Endpoints: ServeNull(t, st, 1, store.NullOptions{Memory: true, Script: "error=" + name + " every 2"})})
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		want := name
		if name == "unavailable" {
			want = "store_error"
		}
		if e := w.Do(store.Op{Kind: kv.Put, Key: []byte("k")}); e.Outcome.String() != want || len(e.Text) == 0 {
			t.Errorf("%s: %+v", name, e)
		}
		if e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")}); string(e.Value) != "v" {
			t.Errorf("%s: the value after the failed put is %q, want \"v\"", name, e.Value)
		}
	}
	if _, err := st.NullServer(store.NullOptions{Script: "error=nonsense"}); err == nil {
		t.Error("NullServer accepted an unknown error name")
	}
}

// HTTPFaults tests the codec with responses that a script damages. The codec must report the damage
// and must end every operation.
func HTTPFaults(t *testing.T, st HTTPStore) {
	t.Helper()
	op := store.Op{Kind: kv.Get, Key: []byte("k")}
	dial := func(script string) *Wire {
		return Dial(t, st, store.Access{Endpoints: ServeNull(t, st, 1, store.NullOptions{ValueSize: 100, Script: script})})
	}
	for script, want := range map[string]struct {
		outcome kv.Outcome
		err     string
	}{
		"close every 1":        {kv.ConnectionLost, ""},
		"half every 1":         {kv.ConnectionLost, ""},
		"reset=cancel every 1": {kv.ConnectionLost, ""},
		"huge=frame every 1":   {kv.ConnectionLost, "the server's response has"},
		"huge=message every 1": {kv.ConnectionLost, "the server's response has 4294967296 bytes"},
		"mode=garbage":         {kv.ConnectionLost, "the server does not speak HTTP/1.1"},
		"mode=http1":           {kv.BadRequest, ""},
		"goaway every 1":       {kv.OK, ""},
	} {
		w := dial(script)
		e, err := w.End(op)
		if e.Outcome != want.outcome || (want.err == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want.err) {
			t.Errorf("%s: %v %s, %v", script, e.Outcome, e.Text, err)
		}
		if script == "goaway every 1" && !w.Codec.Draining() {
			t.Error("the codec is not draining after the last response of a connection")
		}
	}
	if e := dial("wrong=value every 1").Want(kv.OK, op); string(e.Value) == strings.Repeat("0", 100) {
		t.Error("the null server returned the correct value instead of a wrong one")
	}
}

// CheckAdminWithoutServer checks that administrative calls return an error if no server responds.
func CheckAdminWithoutServer(t *testing.T, st HTTPStore) {
	t.Helper()
	a, err := st.Admin(store.Access{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Status(t.Context()); err == nil {
		t.Error("Status succeeded without a server")
	}
	if _, err := a.Members(t.Context()); err == nil {
		t.Error("Members succeeded without a server")
	}
	if _, err := a.(store.Cleaner).DeletePrefix(t.Context(), []byte("/")); err == nil {
		t.Error("DeletePrefix succeeded for the prefix of all keys")
	}
	if m, ok := a.(store.Operator); ok && m.MoveLeader(t.Context(), 1) == nil {
		t.Error("MoveLeader succeeded without a server")
	}
	if _, err := st.Admin(store.Access{}); err == nil {
		t.Error("Admin accepted an access without endpoints")
	}
}

// BenchmarkRead measures reads from the null server. The result includes the work of the codec and
// of the server.
func BenchmarkRead(b *testing.B, st HTTPStore) {
	w := Dial(b, st, store.Access{Endpoints: ServeNull(b, st, 1, store.NullOptions{ValueSize: 256})})
	op := store.Op{Kind: kv.Get, Key: []byte("bench/00012345"), Consistency: kv.Local}
	events := make([]store.Event, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		w.Codec.Submit(&op)
		for events = events[:0]; len(events) == 0; {
			var err error
			if events, err = w.Turn(events); err != nil {
				b.Fatal(err)
			}
		}
	}
}
