package zetcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// TestCapabilities checks that zetcd has its own descriptions of reads, durability and
// transactions.
func TestCapabilities(t *testing.T) {
	own, model := New().Capabilities(), zookeeper.New().Capabilities()
	for c, is := range own.Reads {
		if is == model.Reads[c] || !strings.Contains(is, "etcd") {
			t.Errorf("%v reads are described as %q, which is ZooKeeper's description or does not name etcd", c, is)
		}
	}
	if own.Durability == model.Durability || !strings.Contains(own.Operations[kv.Txn], "api error") {
		t.Errorf("%+v", own)
	}
}

func TestServer(t *testing.T) {
	for _, version := range []string{"", "0.0.5", "v0.0.5"} {
		if source, err := New().Server(version); err != nil || source.Check.Module != "github.com/coreos/zetcd@v0.0.5" {
			t.Errorf("%q: %+v, %v", version, source, err)
		}
	}
	if _, err := New().Server("0.0.4"); err == nil || !strings.Contains(err.Error(), "known versions: 0.0.5") {
		t.Errorf("%v", err)
	}
}

func TestLaunch(t *testing.T) {
	place := kv.MemberPlace{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: t.TempDir()}
	spec := store.LaunchSpec{Cluster: "c", Self: "/self", Exec: "/opt/zetcd", Members: []kv.MemberPlace{place},
		Settings: &etcd.Settings{UnsafeNoFsync: true}}
	l, err := New().Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Processes[0]
	want := []string{"-zkaddr", "127.0.0.1:3", "-endpoints", "http://127.0.0.1:1", "-logtostderr"}
	if p.Path != "/opt/zetcd" || !slices.Equal(p.Args, want) || p.Name != "m1" || p.Endpoint != "127.0.0.1:3" {
		t.Errorf("the process of the proxy is %+v", p)
	}
	b := p.Backends[0]
	if b.Name != "m1-etcd" || b.Path != "/self" || b.Endpoint != "127.0.0.1:1" || b.DataDir != p.DataDir || b.LogFile == p.LogFile {
		t.Errorf("the process of the etcd member is %+v", b)
	}
	if l.Synced || !strings.HasPrefix(l.Notes[0], "each member consists of a zetcd process and an etcd server") {
		t.Errorf("%+v", l)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	spec.Exec = ""
	if _, err := New().Launch(spec); err == nil || err.Error() != "zetcd's server is not installed: run quorumbench stores install zetcd" {
		t.Errorf("%v", err)
	}
}

func TestAdminRefuses(t *testing.T) {
	for want, a := range map[string]store.Access{
		"zetcd does not support TLS":                       {Endpoints: []string{"h:1"}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
		"zetcd has no users":                               {Endpoints: []string{"h:1"}, User: "u", Password: "p"},
		"no process listens at this address":               {Endpoints: []string{"127.0.0.1:1"}},
		"the proxy closed the connection":                  {Endpoints: []string{server(t, "")}},
		"no response within the time limit":                {Endpoints: []string{server(t, "wait")}, DialTimeout: 50 * time.Millisecond},
		"zetcd at 127.0.0.1:1 did not respond: no process": {Endpoints: []string{"127.0.0.1:1", server(t, "")}},
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
	if err := probe(t.Context(), store.Access{}, server(t, "nope"), true); err == nil || !strings.Contains(err.Error(), "does not speak ZooKeeper's protocol") {
		t.Errorf("%v", err)
	}
}

// server returns the address of a server that reads once, sends the text and closes the connection.
// If the text is "wait", the server sends nothing until the test ends.
func server(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			_, _ = conn.Read(make([]byte, 100))
			if text == "wait" {
				<-ctx.Done()
			}
			_, _ = conn.Write([]byte(text))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}
