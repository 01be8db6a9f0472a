package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// testCerts contains the certificate files for one test. One authority has signed all certificates.
type testCerts struct {
	ca, serverCert, serverKey string
	pool                      *x509.CertPool
	clientCert                tls.Certificate
}

func newTestCerts(t testing.TB) *testCerts {
	t.Helper()
	dir, until := t.TempDir(), time.Now().Add(time.Hour)
	ca := certs.NewAuthority(t, "test authority")
	c := &testCerts{
		ca: filepath.Join(dir, "ca.crt"), serverCert: filepath.Join(dir, "server.crt"), serverKey: filepath.Join(dir, "server.key"),
		pool: ca.Pool(), clientCert: ca.Issue(t, "client", until).TLS(t),
	}
	certs.WriteFile(t, c.ca, ca.PEM)
	ca.Issue(t, "server", until).Write(t, c.serverCert, c.serverKey)
	return c
}

// client returns the TLS configuration of a client that presents its certificate.
func (c *testCerts) client(testing.TB) *tls.Config {
	return &tls.Config{
		RootCAs: c.pool, Certificates: []tls.Certificate{c.clientCert}, ServerName: "127.0.0.1",
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	}
}

func TestLiveMutualTLS(t *testing.T) {
	files := newTestCerts(t)
	l := startLive(t, files, true)
	a := store.Access{Endpoints: []string{l.endpoint}, TLS: files.client(t)}
	f := fixture()
	f.Keys, f.Values = f.Keys[:10], f.Values[:8]
	storetest.Operations(t, f, a)
	a.TLS.Certificates = nil
	if e, err := storetest.Dial(t, New(), a).Try(storetest.Put("k", nil)); err == nil {
		t.Errorf("a put without a client certificate succeeded: %+v", e)
	}
}

// TestLivePlainToTLS connects to a TLS port without TLS. The server sends an error or closes
// the connection.
func TestLivePlainToTLS(t *testing.T) {
	files := newTestCerts(t)
	l := startLive(t, files, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	w := dialWire(t, a, newCodecs(a))
	out := w.Codec.Out()
	n, err := w.Conn.Write(out)
	w.Codec.Wrote(n)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	if n, err = w.Conn.Read(buf); err != nil {
		return // the server closed the connection without an error
	}
	if _, err = w.Codec.Feed(buf[:n], nil); err == nil || w.Codec.Room() != 0 {
		t.Fatalf("the codec accepted the server's response %q", buf[:n])
	}
	if !strings.Contains(err.Error(), "is this an etcd client port?") && !strings.Contains(err.Error(), "TLS") {
		t.Errorf("the server's response is %q, and the codec's error is %v", buf[:n], err)
	}
}

// enableAuth enables authentication. It creates the user root, and the user alice, who may
// access the keys from a to b.
func enableAuth(t *testing.T, l *live) {
	t.Helper()
	ctx, c := longTimeout(t), l.client
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.UserAdd(ctx, "root", "secret"))
	check(c.UserGrantRole(ctx, "root", "root"))
	check(c.RoleAdd(ctx, "some"))
	check(c.RoleGrantPermission(ctx, "some", "a", "b", 2))
	check(c.UserAdd(ctx, "alice", "wonder land"))
	check(c.UserGrantRole(ctx, "alice", "some"))
	check(c.AuthEnable(ctx))
}

func TestLiveAuthentication(t *testing.T) {
	l := startLive(t, nil, false)
	enableAuth(t, l)
	root := l.official(t, nil, "root", "secret")

	a := store.Access{Endpoints: []string{l.endpoint}, User: "root", Password: "secret"}
	codecs := newCodecs(a)
	first := dialWire(t, a, codecs)
	first.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	second := dialWire(t, a, codecs)
	second.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})

	// The token must be renewed in time, and both connections must continue to work.
	old := first.Codec.(*codec).login.token
	first.Codec.Tick(renewAfter)
	for first.Codec.(*codec).login.token == old {
		if _, err := first.Turn(nil); err != nil {
			t.Fatal(err)
		}
	}
	first.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")})
	second.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})

	// Requests must be denied without a token, and with a token that members no longer accept.
	nobody := store.Access{Endpoints: []string{l.endpoint}}
	dialWire(t, nobody, newCodecs(nobody)).want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k")})
	if _, err := root.AuthDisable(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.client.AuthEnable(longTimeout(t)); err != nil {
		t.Fatal(err)
	}
	first.want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")})
	first.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")})
	second.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")})
}

func TestLivePermission(t *testing.T) {
	l := startLive(t, nil, false)
	enableAuth(t, l)
	a := store.Access{Endpoints: []string{l.endpoint}, User: "alice", Password: "wonder land"}
	w := dialWire(t, a, newCodecs(a))
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("ab"), Value: []byte("v")})
	w.want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("z"), Value: []byte("v")})
	w.want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("z")})
	w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("ab")})
}

func TestLiveWrongPassword(t *testing.T) {
	l := startLive(t, nil, false)
	enableAuth(t, l)
	a := store.Access{Endpoints: []string{l.endpoint}, User: "root", Password: "wrong"}
	w := dialWire(t, a, newCodecs(a))
	for {
		if w.Codec.Room() > 0 {
			t.Fatal("the codec has room for an operation after a wrong password")
		}
		if _, err := w.Turn(nil); err != nil {
			if want := "etcd refused user root: authentication failed, invalid user ID or password"; err.Error() != want {
				t.Errorf("error %v", err)
			}
			return
		}
	}
}

func TestLiveUserWithoutAuthentication(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}, User: "root", Password: "secret"}
	dialWire(t, a, newCodecs(a)).want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
}
