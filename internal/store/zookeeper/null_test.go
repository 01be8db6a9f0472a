package zookeeper_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// startNull starts a null cluster that runs until the test ends.
func startNull(t testing.TB, members int, o store.NullOptions) store.Access {
	t.Helper()
	return store.Access{Endpoints: storetest.ServeNull(t, zookeeper.New(), members, o)}
}

// TestNullAgreesWithOfficialClient runs the checks for the real server against the null server.
func TestNullAgreesWithOfficialClient(t *testing.T) {
	f := fixture()
	storetest.CheckNullServer(t, f, len(f.Keys), 6, func(t *testing.T, a store.Access) {
		agreeOnTransactions(t, dialWire(t, a, nil), official(t, a))
	})
}

// TestNullAnswersAsTheRealOne checks that the official client gets the same results from a real
// server and from the null server.
func TestNullAnswersAsTheRealOne(t *testing.T) {
	null := official(t, startNull(t, 1, store.NullOptions{Memory: true}))
	real := official(t, server(t))
	a, b := everything(t, null), everything(t, real)
	if diff := firstDifference(a, b); diff != "" {
		t.Error(diff)
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("null: %s\nreal: %s", a[i], b[i])
		}
	}
	return ""
}

// everything makes every call that a null server supports and returns the results as text.
func everything(t *testing.T, c *zk.Conn) (said []string) {
	t.Helper()
	open := zk.WorldACL(zk.PermAll)
	say := func(what string, v ...any) { said = append(said, what+" "+fmt.Sprintln(v...)) }
	stat := func(s *zk.Stat) string {
		if s == nil {
			return "no stat"
		}
		return fmt.Sprint(s.Version, s.DataLength, s.NumChildren, s.EphemeralOwner != 0)
	}
	create := func(path string, flags int32) {
		p, err := c.Create(path, []byte("data"), flags, open)
		say("create "+path, p, err)
	}
	create("/all", 0)
	create("/all", 0)
	create("/none/below", 0)
	create("/all/seq-", zk.FlagSequence)
	create("/all/seq-", zk.FlagSequence)
	create("/all/eph", zk.FlagEphemeral)
	create("/all/eph/child", 0)
	p, err := c.CreateContainer("/all/container", nil, 4, open)
	say("container", p, err)
	p, err = c.CreateTTL("/all/ttl", nil, 5, open, time.Hour)
	say("ttl", p, err)
	for _, path := range []string{"/all", "/all/eph", "/nothing"} {
		data, s, err := c.Get(path)
		say("get "+path, string(data), stat(s), err)
		ok, s, err := c.Exists(path)
		say("exists "+path, ok, stat(s), err)
		names, s, err := c.Children(path)
		slices.Sort(names)
		say("children "+path, names, stat(s), err)
		s, err = c.Set(path, []byte("new"), 0)
		say("set "+path, stat(s), err)
		s, err = c.Set(path, []byte("new"), 7)
		say("set "+path, stat(s), err)
		say("delete "+path, c.Delete(path, 9))
		_, err = c.Sync(path)
		say("sync "+path, err)
	}
	multi := func(ops ...any) {
		r, err := c.Multi(ops...)
		say("multi", err)
		for _, r := range r {
			say("result", r.String, stat(r.Stat), r.Error)
		}
	}
	multi(&zk.CreateRequest{Path: "/m", Data: []byte("1"), Acl: open}, &zk.SetDataRequest{Path: "/m", Data: []byte("22"), Version: 0},
		&zk.CheckVersionRequest{Path: "/m", Version: 1}, &zk.CreateRequest{Path: "/m/x", Acl: open}, &zk.DeleteRequest{Path: "/m/x", Version: -1})
	multi(&zk.SetDataRequest{Path: "/m", Data: []byte("333"), Version: -1}, &zk.DeleteRequest{Path: "/m", Version: -1},
		&zk.CreateRequest{Path: "/m", Acl: open}, &zk.DeleteRequest{Path: "/absent", Version: -1}, &zk.DeleteRequest{Path: "/m", Version: -1})
	data, s, err := c.Get("/m")
	say("get /m", string(data), stat(s), err)
	say("delete", c.Delete("/m", 1), c.Delete("/all", -1))
	return said
}

func TestNullStatus(t *testing.T) {
	a := startNull(t, 3, store.NullOptions{})
	admin, err := zookeeper.New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	s, err := admin.Status(t.Context())
	if err != nil || s.Leader() == nil || s.Leader().ID != 1 || s.Term != 2 || s.Version != "3.9.5" {
		t.Errorf("status %+v, %v", s, err)
	}
	members, err := admin.Members(t.Context())
	if err != nil || !slices.Equal(store.Endpoints(members), a.Endpoints) {
		t.Errorf("members %v, want %v: %v", members, a.Endpoints, err)
	}
}

func TestNullScripts(t *testing.T) {
	get := store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local}
	for script, want := range map[string]string{
		"error=noauth every 1":           "denied ZooKeeper returned NoAuth (-102)",
		"error=requesttimeout every 1":   "store_timeout ZooKeeper returned RequestTimeout (-122)",
		"reset=refused every 1":          "refused ZooKeeper returned ThrottledOp (-127)",
		"wrong=value every 1":            "ok ",
		"huge=frame every 1":             "the server announced a response of 2147483647 bytes, but at most 67108864 bytes are allowed",
		"huge=message every 1":           "the server sent a truncated response, which is not valid in ZooKeeper's protocol",
		"close every 1":                  "EOF",
		"half every 1":                   "EOF",
		"close@0s;never every 1":         "EOF",
		"mode=http1":                     "the server answered with HTTP, not ZooKeeper's protocol: is this ZooKeeper's client port, and not the port of its admin server?",
		"mode=garbage":                   "not ZooKeeper's protocol",
		"goaway every 1; delay=20ms":     "ok ",
		"delay=30ms every 1;chunk=3/1ms": "ok ",
	} {
		t.Run(script, func(t *testing.T) {
			w := dialWire(t, startNull(t, 1, store.NullOptions{Script: script, ValueSize: 9}), nil)
			if got := outcomeOf(w, get); !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestNullGoAway checks that the server closes a connection after as many operations as the script
// demands, even if the script demands nothing else.
func TestNullGoAway(t *testing.T) {
	w := dialWire(t, startNull(t, 1, store.NullOptions{Script: "goaway every 2", ValueSize: 9}), nil)
	get := store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local}
	for i, want := range []string{"ok ", "ok ", "EOF"} {
		if got := outcomeOf(w, get); !strings.Contains(got, want) {
			t.Errorf("operation %d ended with %q, want %q", i+1, got, want)
		}
	}
}

// outcomeOf runs an operation and returns its outcome, or the error that ended the connection.
func outcomeOf(w *storetest.Wire, op store.Op) string {
	submitted := false
	for {
		if !submitted && w.Codec.Room() > 0 {
			submitted = true
			w.Codec.Submit(&op)
		}
		events, err := w.Step()
		for _, e := range events {
			if err == nil {
				return e.Outcome.String() + " " + string(e.Text)
			}
		}
		if err != nil {
			return err.Error()
		}
	}
}

// TestNullKeepsOrder checks that a delayed reply also delays the replies after it. A test of
// package nullserver checks the exact times.
func TestNullKeepsOrder(t *testing.T) {
	a := startNull(t, 1, store.NullOptions{Script: "delay=60ms every 2", ValueSize: 9})
	w := dialWire(t, a, nil)
	w.Ready()
	for tag := uint32(1); tag <= 4; tag++ {
		w.Codec.Submit(&store.Op{Tag: tag, Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	}
	began := time.Now()
	var at []time.Duration
	for len(at) < 4 {
		events, err := w.Turn(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if at = append(at, time.Since(began)); e.Tag != uint32(len(at)) || !bytes.Equal(e.Value, []byte("000000000")) {
				t.Fatalf("event %d: %+v", len(at), e)
			}
		}
	}
	if at[1] < 60*time.Millisecond || at[2] < at[1] || at[3] < 60*time.Millisecond {
		t.Errorf("the responses arrived after %v", at)
	}
}

func TestNullUser(t *testing.T) {
	a := startNull(t, 1, store.NullOptions{User: "alice:wonder land", ValueSize: 1})
	get := store.Op{Kind: kv.Get, Key: []byte("k")}
	for user, want := range map[string]string{
		"": "denied ZooKeeper returned NoAuth (-102)", "alice:wonder land": "ok ",
		"alice:no": "the server refused the user's name and password: AuthFailed",
	} {
		a.User, a.Password, _ = strings.Cut(user, ":")
		if got := outcomeOf(dialWire(t, a, nil), get); got != want {
			t.Errorf("%q: %s, want %s", user, got, want)
		}
	}
}

func TestNullRefusesOptions(t *testing.T) {
	if _, err := zookeeper.New().NullServer(store.NullOptions{Script: "error=nonsense every 1"}); err == nil || !strings.Contains(err.Error(), "throttledop") {
		t.Error(err)
	}
	if _, err := zookeeper.New().NullServer(store.NullOptions{User: "secret"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
