package zookeeper_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// rawConn speaks the protocol directly, for requests that the codec does not send.
type rawConn struct {
	t    testing.TB
	net  net.Conn
	c    *jute.Conn
	buf  []byte
	seen []string // watch events
}

func dialRaw(t testing.TB, a store.Access, timeout int32) *rawConn {
	t.Helper()
	nc, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	r := &rawConn{t: t, net: nc, c: jute.NewConn(jute.Config{Timeout: timeout}), buf: make([]byte, 64<<10)}
	for !r.c.Ready() {
		r.turn()
	}
	return r
}

func (r *rawConn) turn() (replies []jute.Reply) {
	r.t.Helper()
	n, err := r.net.Write(r.c.Out())
	if r.c.Wrote(n); err != nil {
		r.t.Fatal(err)
	}
	if n, err = r.net.Read(r.buf); err != nil {
		r.t.Fatal(err)
	}
	all, err := r.c.Feed(r.buf[:n])
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range all {
		if a.End == jute.Notified {
			what, path, ok := a.Notification()
			if r.seen = append(r.seen, fmt.Sprint(what, " ", string(path))); !ok {
				r.t.Fatal("the client received an incomplete notification")
			}
			continue
		}
		replies = append(replies, a)
	}
	return replies
}

// awaitReply returns the reply to the only request that has no reply yet.
func (r *rawConn) awaitReply() jute.Reply {
	r.t.Helper()
	for {
		if replies := r.turn(); len(replies) > 0 {
			return replies[0]
		}
	}
}

func (r *rawConn) ok() jute.Reply {
	r.t.Helper()
	a := r.awaitReply()
	if a.Code != jute.OK {
		r.t.Fatalf("operation %d: %v", a.Op, a.Code)
	}
	return a
}

func rest(path string) jute.Path { return jute.Path{Rest: []byte(path)} }

func TestLiveWatches(t *testing.T) {
	a := server(t)
	client, r := official(t, a), dialRaw(t, a, 30_000)
	open := zk.WorldACL(zk.PermAll)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(client.Create("/watched", nil, 0, open))
	must(client.Create("/tree", nil, 0, open))
	var none jute.Call
	r.c.GetData(none, rest("/watched"), true)
	r.ok()
	r.c.Exists(none, rest("/watched/new"), true)
	if code := r.awaitReply().Code; code != jute.NoNode {
		t.Fatal(code)
	}
	r.c.GetChildren(none, rest("/watched"), true)
	r.ok()
	r.c.AddWatch(none, rest("/tree"), jute.WatchPersistentRecursive)
	r.ok()
	for range 2 { // one-shot watches fire once
		must(client.Set("/watched", []byte("v"), -1))
	}
	must(client.Create("/watched/new", nil, 0, open))
	for i := range 2 {
		must(client.Create(fmt.Sprintf("/tree/%d", i), nil, 0, open))
		must(client.Set(fmt.Sprintf("/tree/%d", i), nil, -1))
	}
	must(nil, client.Delete("/tree/1", -1))
	want := "3 /watched, 1 /watched/new, 4 /watched, 1 /tree/0, 3 /tree/0, 1 /tree/1, 3 /tree/1, 2 /tree/1"
	for len(r.seen) < 8 {
		r.turn()
	}
	r.c.Sync(none, rest("/"))
	r.ok()
	if got := strings.Join(r.seen, ", "); got != want {
		t.Errorf("the client received the notifications %s, want %s", got, want)
	}
}

// TestLiveKindsOfNodes uses the official client to check which kinds of nodes can be created and
// that the end of a session removes its ephemeral nodes.
func TestLiveKindsOfNodes(t *testing.T) {
	a := server(t)
	client, r := official(t, a), dialRaw(t, a, 30_000)
	if _, err := client.Create("/kinds", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	create := func(name string, mode jute.Mode, withStat bool) string {
		t.Helper()
		r.c.Create(jute.Call{}, jute.NewNode{Path: rest("/kinds/" + name), Data: []byte("v"), ACL: jute.OpenACL(), Mode: mode, TTL: 3_600_000, WithStat: withStat})
		b := jute.NewReader(r.ok().Body)
		path := string(b.Buffer())
		if s := b; withStat && (s.Stat().DataLength != 1 || !s.OK()) {
			t.Errorf("%s: no stat", name)
		}
		return path
	}
	for _, tc := range []struct {
		name, want string
		mode       jute.Mode
		stat       bool
	}{
		{"plain", "plain", jute.Persistent, false}, {"stat", "stat", jute.Persistent, true},
		{"eph", "eph", jute.Ephemeral, false}, {"seq-", "seq-0000000003", jute.PersistentSequential, false},
		{"es-", "es-0000000004", jute.EphemeralSequential, true}, {"box", "box", jute.Container, true},
		{"ttl", "ttl", jute.PersistentTTL, true}, {"ts-", "ts-0000000007", jute.PersistentSequentialTTL, true},
	} {
		path := create(tc.name, tc.mode, tc.stat)
		b, stat, err := client.Get(path)
		if path != "/kinds/"+tc.want || err != nil || string(b) != "v" {
			t.Fatalf("a node of the kind %s was created as %s with the value %q, %v", tc.name, path, b, err)
		}
		if owned := tc.mode == jute.Ephemeral || tc.mode == jute.EphemeralSequential; owned != (stat.EphemeralOwner == r.c.Session().ID) {
			t.Errorf("%s has owner 0x%x", path, stat.EphemeralOwner)
		}
	}
	r.c.CloseSession(jute.Call{})
	r.ok()
	for _, path := range []string{"/kinds/eph", "/kinds/es-0000000004"} {
		if _, _, err := client.Get(path); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("%s outlives its session: %v", path, err)
		}
	}
}

// TestLiveSessionTimesOut checks that a session without pings expires, and that a new connection
// cannot continue it.
func TestLiveSessionTimesOut(t *testing.T) {
	a := server(t)
	if least := dialRaw(t, a, 1).c.Timeout(); least != 1000 { // twice the tick
		t.Fatalf("the granted session timeout is %d ms, want 1000", least)
	}
	client, r := official(t, a), dialRaw(t, a, 4000) // long enough for any machine
	r.c.Create(jute.Call{}, jute.NewNode{Path: rest("/shortlived"), ACL: jute.OpenACL(), Mode: jute.Ephemeral})
	r.ok()
	_, _, gone, err := client.ExistsW("/shortlived")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.net.Close()
	select {
	case e := <-gone:
		if e.Type != zk.EventNodeDeleted {
			t.Fatalf("event %v", e)
		}
	case <-time.After(patience):
		t.Fatal("the session did not expire")
	}
	// The server may close a new connection because it is just ending the session. Then there is no
	// reply, so try again.
	err = io.EOF
	for err == io.EOF {
		err = resumeSession(t, a, r.c.Session())
	}
	if !errors.Is(err, jute.ErrExpired) {
		t.Errorf("got %v", err)
	}
}

// resumeSession tries once to continue a session, and returns the error if the server does not
// grant it.
func resumeSession(t *testing.T, a store.Access, s jute.Session) error {
	t.Helper()
	nc, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(patience))
	c, buf := jute.NewConn(jute.Config{Timeout: 1, Session: s}), make([]byte, 4096)
	if _, err = nc.Write(c.Out()); err != nil {
		t.Fatal(err)
	}
	n, err := nc.Read(buf)
	if err != nil {
		return err
	}
	_, err = c.Feed(buf[:n])
	return err
}
