package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// testCerts are files of a certificate authority made for one test.
type testCerts struct {
	ca, serverCert, serverKey string
	pool                      *x509.CertPool
	clientCert                tls.Certificate
}

func newTestCerts(t testing.TB) *testCerts {
	t.Helper()
	dir := t.TempDir()
	caKey := newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) (string, []byte) {
		b := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path, b
	}
	leaf := func(name string, serial int64) (certFile, keyFile string, pair tls.Certificate) {
		key := newKey(t)
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
		if err != nil {
			t.Fatal(err)
		}
		keyDER, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		certFile, certPEM := write(name+".crt", "CERTIFICATE", der)
		keyFile, keyPEM := write(name+".key", "EC PRIVATE KEY", keyDER)
		if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
			t.Fatal(err)
		}
		return certFile, keyFile, pair
	}
	c := &testCerts{pool: x509.NewCertPool()}
	var caPEM []byte
	c.ca, caPEM = write("ca.crt", "CERTIFICATE", caDER)
	c.pool.AppendCertsFromPEM(caPEM)
	c.serverCert, c.serverKey, _ = leaf("server", 2)
	_, _, c.clientCert = leaf("client", 3)
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// client is a client's configuration, with its certificate.
func (c *testCerts) client(testing.TB) *tls.Config {
	return &tls.Config{
		RootCAs: c.pool, Certificates: []tls.Certificate{c.clientCert}, ServerName: "127.0.0.1",
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	}
}

func TestLiveTLS(t *testing.T) {
	for name, mutual := range map[string]bool{"tls": false, "mutual tls": true} {
		t.Run(name, func(t *testing.T) {
			files := newTestCerts(t)
			l := startLive(t, files, mutual)
			a := store.Access{Endpoints: []string{l.endpoint}, TLS: files.client(t)}
			w := dialWire(t, a, newCodecs(a))
			for _, value := range awkwardValues() {
				agreeOnKey(t, w, l.client, []byte("tls\x00\xff"), value)
			}
			agreeOnRanges(t, w, l.client)
		})
	}
}

// A plain connection to a port that wants TLS: the server says so, or closes.
func TestLivePlainToTLS(t *testing.T) {
	files := newTestCerts(t)
	l := startLive(t, files, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	w := dialWire(t, a, newCodecs(a))
	out := w.c.Out()
	n, err := w.conn.Write(out)
	w.c.Wrote(n)
	if err != nil {
		t.Fatal(err)
	}
	if n, err = w.conn.Read(w.buf); err != nil {
		return // closed without a word
	}
	if _, err = w.c.Feed(w.buf[:n], nil); err == nil || w.c.Room() != 0 {
		t.Fatalf("the server said %q, and that was taken", w.buf[:n])
	}
	if !strings.Contains(err.Error(), "is this an etcd client port?") && !strings.Contains(err.Error(), "TLS") {
		t.Errorf("the server said %q: %v", w.buf[:n], err)
	}
}

// enableAuth turns authentication on, with root and alice, who may use keys
// from a to b.
func enableAuth(t *testing.T, l *live) {
	t.Helper()
	ctx, c := t.Context(), l.client
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
	for _, value := range awkwardValues() {
		agreeOnKey(t, first, root, []byte("auth"), value)
	}
	second := dialWire(t, a, codecs)
	second.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})

	// Renewed in time, and both go on.
	old := first.c.(*codec).login.token
	first.c.Tick(renewAfter)
	for first.c.(*codec).login.token == old {
		if _, err := first.turn(); err != nil {
			t.Fatal(err)
		}
	}
	first.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k")})
	second.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})

	// Nobody's token, and a token that the members no longer know.
	nobody := store.Access{Endpoints: []string{l.endpoint}}
	dialWire(t, nobody, newCodecs(nobody)).want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("k")})
	if _, err := root.AuthDisable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.client.AuthEnable(t.Context()); err != nil {
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
		if w.c.Room() > 0 {
			t.Fatal("room with a wrong password")
		}
		if _, err := w.turn(); err != nil {
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
