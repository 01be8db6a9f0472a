package etcdv2

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// binary is the path of the real server, which is built if need be.
func binary(t testing.TB) string {
	t.Helper()
	source, err := New().Server("")
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Skip("no real server: ", err)
	}
	return path
}

// live is a real etcd cluster that Launch described.
type live struct {
	t         testing.TB
	endpoints []string
	processes []*os.Process
}

// freePorts returns ports below the ephemeral range that nothing listens on at
// a host.
func freePorts(t testing.TB, host string, n int) (ports []int) {
	t.Helper()
	for port := 26_000 + os.Getpid()%5_000; len(ports) < n && port < 32_000; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		if err != nil {
			continue
		}
		_ = l.Close()
		ports = append(ports, port)
	}
	if len(ports) < n {
		t.Fatal("no free ports")
	}
	return ports
}

// startLive starts a cluster; host is its own address, 127.x.
func startLive(t testing.TB, members int, host string) *live {
	t.Helper()
	spec := store.LaunchSpec{Cluster: t.Name(), Exec: binary(t)}
	ports := freePorts(t, host, members*store.PortsPerMember)
	for i := range members {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("m%d", i+1))
		spec.Members = append(spec.Members, store.MemberPlace{
			Name: fmt.Sprintf("m%d", i+1), Host: host, Dir: dir, Ports: ports[i*store.PortsPerMember:],
		})
	}
	launch, err := New().Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t}
	for _, p := range launch.Processes {
		l.start(p)
	}
	l.ready()
	return l
}

func (l *live) start(p store.Process) {
	l.t.Helper()
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	log, err := os.Create(p.LogFile)
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.processes = append(l.processes, cmd.Process)
	l.endpoints = append(l.endpoints, p.Endpoint)
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
		if l.t.Failed() {
			text, _ := os.ReadFile(p.LogFile)
			l.t.Logf("%s: ...%s", p.Name, text[max(0, len(text)-3000):])
		}
	})
}

// ready waits until every member knows a leader and takes writes.
func (l *live) ready() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, e := range l.endpoints {
		for {
			r, err := ask(ctx, e, "PUT", "/ready", "value=1")
			if err == nil && r.ErrorCode == 0 {
				break
			}
			select {
			case <-ctx.Done():
				l.t.Fatalf("etcd at %s is not ready: %v", e, err)
			case <-tick.C:
			}
		}
	}
}

// apiAnswer is what the API says, as encoding/json reads it.
type apiAnswer struct {
	ErrorCode int
	Message   string
	Node      *testNode
}

type testNode struct {
	Key, Value    string
	ModifiedIndex int64
	Nodes         []testNode
}

// ask asks the v2 API through net/http; the path begins behind /v2/keys.
func ask(ctx context.Context, endpoint, method, path, form string) (*apiAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+endpoint+"/v2/keys"+path, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	a := &apiAnswer{}
	return a, json.NewDecoder(r.Body).Decode(a)
}

// wireConn drives one codec over a socket, synchronously.
type wireConn struct {
	t    testing.TB
	conn net.Conn
	c    store.Codec
	buf  []byte
	tag  uint32
}

func dialWire(t testing.TB, a store.Access) *wireConn {
	t.Helper()
	conn, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	if a.TLS != nil {
		conn = tls.Client(conn, a.TLS)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(60 * time.Second))
	return &wireConn{t: t, conn: conn, c: newCodecs(a)(store.Dialed{Endpoint: a.Endpoints[0]}), buf: make([]byte, 64<<10)}
}

// turn writes what there is, reads once, and returns the events.
func (w *wireConn) turn() ([]store.Event, error) {
	w.t.Helper()
	for out := w.c.Out(); len(out) > 0; out = w.c.Out() {
		n, err := w.conn.Write(out)
		w.c.Wrote(n)
		if err != nil {
			w.t.Fatal(err)
		}
	}
	n, err := w.conn.Read(w.buf)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.c.Feed(w.buf[:n], nil)
}

// do runs one operation to its end; its bytes are copied.
func (w *wireConn) do(op store.Op) store.Event {
	w.t.Helper()
	w.tag++
	op.Tag = w.tag
	if w.c.Room() != 1 {
		w.t.Fatal("no room")
	}
	w.c.Submit(&op)
	for {
		events, err := w.turn()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			if e.Tag == op.Tag {
				e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
				return e
			}
		}
	}
}

// want runs an operation that is to end with the outcome.
func (w *wireConn) want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.do(op)
	if e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s), want %v", op.Kind, op.Key, e.Outcome, e.Text, o)
	}
	return e
}
