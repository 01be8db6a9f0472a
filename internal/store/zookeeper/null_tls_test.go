package zookeeper_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// selfSigned is a server's certificate, and who trusts it.
func selfSigned(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	return server, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: "127.0.0.1"}
}

func TestTLS(t *testing.T) {
	serverTLS, clientTLS := selfSigned(t)
	a := startNull(t, 1, store.NullOptions{Memory: true, TLS: serverTLS})
	plain := outcomeOf(dialWire(t, a, nil), store.Op{Kind: kv.Get, Key: []byte("k")})
	if !strings.Contains(plain, "TLS alert") && !strings.Contains(plain, "EOF") && !strings.Contains(plain, "reset") {
		t.Errorf("without TLS: %s", plain)
	}
	a.TLS = clientTLS
	w := dialWire(t, a, nil)
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("tls/k"), Value: message(100_000)})
	if e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("tls/k")}); len(e.Value) != 100_000 {
		t.Errorf("read %d bytes", len(e.Value))
	}
	admin, err := zookeeper.New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if s, err := admin.Status(t.Context()); err != nil || s.Leader() == nil {
		t.Errorf("status %+v, %v", s, err)
	}
	if n, err := admin.(store.Maintainer).DeletePrefix(t.Context(), []byte("tls/")); err != nil || n != 1 {
		t.Errorf("%d keys were deleted: %v", n, err)
	}
}
