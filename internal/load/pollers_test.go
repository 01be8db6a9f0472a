package load_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// Neither poller loses an operation, with or without TLS. This is true even if a value needs many
// reads and writes, or if connections close during the load.
func TestPollers(t *testing.T) {
	t.Parallel()
	server, client := certs.Configs(t)
	for _, portable := range []bool{false, true} {
		for _, secured := range []bool{false, true} {
			for _, size := range []int{64, 200_000} {
				name := map[bool]string{false: "system", true: "portable"}[portable] + map[bool]string{true: ", TLS"}[secured] + map[int]string{200_000: ", large values"}[size]
				t.Run(name, func(t *testing.T) {
					o := store.NullOptions{Memory: true}
					if secured {
						o.TLS = server
					}
					l := base(kv.Put, kv.NoConsistency)
					l.Total, l.ValueSize, l.KeySpace = 2500, size, 100
					if size > 1000 {
						l.Total, l.Connections, l.Clients = 60, 4, 16
					}
					p := taskFor(serve(t, "goaway every 1000", o), l)
					if secured {
						p.secure(client)
					}
					if portable {
						p.Worker.Portable()
					}
					if m := run(t, p).Measured; m.Due != l.Total || m.Failed() != 0 {
						t.Errorf("due %d, outcomes %v", m.Due, m.Outcomes)
					}
					l.Mix[0].Kind, l.Mix[0].Consistency = kv.Get, kv.Local
					p.Load = l
					if m := run(t, p).Measured; m.Outcomes[kv.OK] != l.Total {
						t.Errorf("reading the values back: outcomes %v %v", m.Outcomes, m.ErrorTexts)
					}
				})
			}
		}
	}
}

func TestCheckReportsWrongEndpoints(t *testing.T) {
	server, client := certs.Configs(t)
	other := certs.NewAuthority(t, "another authority")
	expired := other.Issue(t, "expired", time.Now().Add(-time.Hour)).TLS(t)
	secure := serve(t, "", store.NullOptions{Memory: true, TLS: server})
	old := serve(t, "", store.NullOptions{Memory: true, TLS: &tls.Config{Certificates: []tls.Certificate{expired}}})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for name, c := range map[string]struct {
		endpoint string
		tls      *tls.Config
		want     string
	}{
		"closed port":           {"127.0.0.1:1", nil, "connection refused"},
		"no response":           {silent.Addr().String(), nil, "did not respond within"},
		"HTTP/1.1":              {serve(t, "mode=http1", store.NullOptions{Memory: true}), nil, "HTTP/1"},
		"garbage":               {serve(t, "mode=garbage", store.NullOptions{Memory: true}), nil, "127.0.0.1"},
		"plain to TLS":          {secure, nil, "TLS"},
		"TLS to plain":          {serve(t, "", store.NullOptions{Memory: true}), client, "check whether TLS is enabled on the server"},
		"another CA":            {secure, &tls.Config{RootCAs: other.Pool()}, "certificate"},
		"expired certificate":   {old, &tls.Config{RootCAs: other.Pool()}, "expired"},
		"the right CA":          {secure, client, ""},
		"a name with no number": {"127.0.0.1", nil, "missing port"},
	} {
		t.Run(name, func(t *testing.T) {
			p := taskFor(c.endpoint, base(kv.Get, kv.Local))
			p.secure(c.tls)
			p.Access.DialTimeout = patience
			if c.endpoint == silent.Addr().String() {
				p.Access.DialTimeout = 500 * time.Millisecond
			}
			err := p.check()
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// A server that never replies fails the check, even if the codec of its store reports a lost
// connection for a request that it has written.
func TestCheckReportsServersWithoutResponse(t *testing.T) {
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = closing.Close(), silent.Close() })
	go func() {
		for c, err := closing.Accept(); err == nil; c, err = closing.Accept() {
			_, _ = c.Read(make([]byte, 1<<10)) // unread data would reset the connection
			_ = c.Close()
		}
	}()
	for _, s := range []store.Store{consul.New(), etcdv2.New(), etcd.New()} {
		for endpoint, want := range map[string]string{
			closing.Addr().String(): "closed the connection without a response",
			silent.Addr().String():  "did not respond within",
		} {
			for _, kind := range []kv.Kind{kv.Get, kv.Put} {
				level := kv.NoConsistency
				if kind == kv.Get {
					level = s.Capabilities().Strongest()
				}
				p := taskOn(s, []string{endpoint}, base(kind, level))
				p.Access.DialTimeout = 200 * time.Millisecond
				if err := p.check(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %v: the error is %v, want one with %q", s.Name(), kind, err, want)
				}
			}
		}
	}
}

// If the context is cancelled, a load stops connecting. It does not wait for the dial timeout.
func TestCancelEndsConnecting(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	p := taskOn(zookeeper.New(), []string{silent.Addr().String()}, base(kv.Put, kv.NoConsistency))
	p.Access.DialTimeout = 2 * time.Second
	job, err := p.Worker.Prepare(t.Context(), &p.Assignment, p.Reports)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user has interrupted the load")
	cancel(why)
	if err := job.Connect(ctx); err != why {
		t.Errorf("connecting ended with %v, want %v", err, why)
	}
}
