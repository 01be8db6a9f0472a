package etcdv2

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// startNull serves a null cluster and returns its endpoints.
func startNull(t testing.TB, members int, o store.NullOptions) (endpoints []string) {
	t.Helper()
	s, err := New().NullServer(o)
	if err != nil {
		t.Fatal(err)
	}
	var listeners []net.Listener
	for range members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		endpoints = append(endpoints, l.Addr().String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listeners) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return endpoints
}

// The null server does what etcd does, as net/http sees it.
func TestNullAgreesWithNetHTTP(t *testing.T) {
	for name, script := range map[string]string{"at once": "", "delayed": "delay=50us", "in pieces": "chunk=7"} {
		t.Run(name, func(t *testing.T) {
			e := startNull(t, 1, store.NullOptions{Memory: true, Script: script})
			w := dialWire(t, store.Access{Endpoints: e})
			for i, key := range awkwardKeys()[:60] {
				agreeOnKey(t, w, key, fmt.Sprintf("value %d", i))
			}
			for _, value := range awkwardValues()[:9] {
				agreeOnKey(t, w, "values", value)
			}
			if script == "" {
				agreeOnRanges(t, w)
			}
		})
	}
}

func TestNullAdmin(t *testing.T) {
	endpoints := startNull(t, 3, store.NullOptions{Memory: true, User: "u:secret"})
	a, err := New().Admin(store.Access{Endpoints: endpoints, User: "u", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, err := a.Status(t.Context())
	if err != nil || s.Leader() == nil || s.Leader().Endpoint != endpoints[0] || s.Members[2].Role != kv.Follower || s.Members[1].ID == s.Members[2].ID {
		t.Errorf("%+v %v", s, err)
	}
	if m, err := a.Members(t.Context()); err != nil || strings.Join(m, " ") != strings.Join(endpoints, " ") {
		t.Errorf("%v %v", m, err)
	}
	w := dialWire(t, store.Access{Endpoints: endpoints[1:], User: "u", Password: "secret"})
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("p/1")})
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("p/2")})
	if n, err := a.(store.Maintainer).DeletePrefix(t.Context(), []byte("/p/")); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	w = dialWire(t, store.Access{Endpoints: endpoints, User: "u", Password: "wrong"})
	w.want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("p/1")})
}

func TestNullErrors(t *testing.T) {
	for name := range nullErrors() {
		w := dialWire(t, store.Access{Endpoints: startNull(t, 1, store.NullOptions{Memory: true, Script: "error=" + name + " every 2"})})
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
		want := name
		if name == "unavailable" {
			want = "store_error"
		}
		if e := w.do(store.Op{Kind: kv.Put, Key: []byte("k")}); e.Outcome.String() != want || len(e.Text) == 0 {
			t.Errorf("%s: %+v", name, e)
		}
		if e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")}); string(e.Value) != "v" {
			t.Errorf("%s: %q was written", name, e.Value)
		}
	}
	if _, err := New().NullServer(store.NullOptions{Script: "error=nonsense"}); err == nil {
		t.Error("an unknown error is taken")
	}
}

// What a script breaks: the codec says what it sees, and nothing is lost.
func TestNullFaults(t *testing.T) {
	op := store.Op{Kind: kv.Get, Key: []byte("k")}
	for script, want := range map[string]struct {
		outcome kv.Outcome
		err     string
	}{
		"close every 1":        {kv.ConnectionLost, ""},
		"half every 1":         {kv.ConnectionLost, ""},
		"reset=cancel every 1": {kv.ConnectionLost, ""},
		"huge=frame every 1":   {kv.ConnectionLost, "the server sends an answer of"},
		"huge=message every 1": {kv.ConnectionLost, "the server sends an answer of 4294967296 bytes"},
		"mode=garbage":         {kv.ConnectionLost, "the server does not speak HTTP/1.1"},
		"mode=http1":           {kv.BadRequest, ""},
		"goaway every 1":       {kv.OK, ""},
	} {
		w := dialWire(t, store.Access{Endpoints: startNull(t, 1, store.NullOptions{ValueSize: 100, Script: script})})
		w.c.Submit(&op)
		e, err := w.end()
		if e.Outcome != want.outcome || (want.err == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want.err) {
			t.Errorf("%s: %v %s, %v", script, e.Outcome, e.Text, err)
		}
		if script == "goaway every 1" && !w.c.Draining() {
			t.Error("a connection's last answer is not seen")
		}
	}
	w := dialWire(t, store.Access{Endpoints: startNull(t, 1, store.NullOptions{ValueSize: 100, Script: "wrong=value every 1"})})
	if e := w.want(kv.OK, op); string(e.Value) == strings.Repeat("0", 100) {
		t.Error("a wrong value is right")
	}
}

// end drives the operation under way to its end, whatever that is.
func (w *wireConn) end() (store.Event, error) {
	for {
		out := w.c.Out()
		if len(out) > 0 {
			n, _ := w.conn.Write(out)
			w.c.Wrote(n)
		}
		n, err := w.conn.Read(w.buf)
		if err != nil {
			return w.c.Lost(nil)[0], nil
		}
		events, err := w.c.Feed(w.buf[:n], nil)
		if err != nil {
			return w.c.Lost(events)[0], err
		}
		if len(events) > 0 {
			return events[0], nil
		}
	}
}

func BenchmarkNullRead(b *testing.B) {
	w := dialWire(b, store.Access{Endpoints: startNull(b, 1, store.NullOptions{ValueSize: 256})})
	op := store.Op{Kind: kv.Get, Key: []byte("bench/00012345"), Consistency: kv.Local}
	events := make([]store.Event, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		w.c.Submit(&op)
		n, _ := w.conn.Write(w.c.Out())
		w.c.Wrote(n)
		for events = events[:0]; len(events) == 0; {
			n, err := w.conn.Read(w.buf)
			if err != nil {
				b.Fatal(err)
			}
			if events, err = w.c.Feed(w.buf[:n], events); err != nil {
				b.Fatal(err)
			}
		}
	}
}
