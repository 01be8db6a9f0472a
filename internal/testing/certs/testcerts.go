// Package certs creates certificates for tests: an authority, and certificates for 127.0.0.1 that
// the authority signs.
package certs

import (
	"crypto"
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
	"time"
)

// T is the part of testing.TB that the package needs to fail a test.
type T interface {
	Fatalf(format string, args ...any)
}

// Authority signs certificates. Its own certificate is valid from one year ago until one year from
// now.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	PEM  []byte // the authority's own certificate
}

// Pair is a certificate and its private key, both in PEM format.
type Pair struct{ Cert, Key []byte }

// NewAuthority creates an authority with the given common name.
func NewAuthority(t T, name string) *Authority {
	now := time.Now()
	a := &Authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
	}}
	own, key := a.sign(t, a.cert)
	a.PEM, a.key = own.Cert, key
	return a
}

// Issue creates a certificate for a server or client at 127.0.0.1 and at the other given addresses,
// valid until the given time.
func (a *Authority) Issue(t T, name string, until time.Time, others ...net.IP) Pair {
	p, _ := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: a.cert.NotBefore, NotAfter: until, IPAddresses: append(others, net.IPv4(127, 0, 0, 1)),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return p
}

// sign creates a key and a certificate for it. An authority that has no key yet signs its own
// certificate.
func (a *Authority) sign(t T, c *x509.Certificate) (Pair, crypto.Signer) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("a key: %v", err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatalf("a certificate: %v", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatalf("a key: %v", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, key
}

// Pool returns a pool that trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	return pool
}

// TLS returns the pair as a certificate for crypto/tls.
func (p Pair) TLS(t T) tls.Certificate {
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatalf("loading a certificate and its key failed: %v", err)
	}
	return c
}

// Write writes the pair to two files.
func (p Pair) Write(t T, certFile, keyFile string) {
	WriteFile(t, certFile, p.Cert)
	WriteFile(t, keyFile, p.Key)
}

// WriteFile writes PEM to a file that only the user can read.
func WriteFile(t T, path string, pem []byte) {
	if err := os.WriteFile(path, pem, 0o600); err != nil {
		t.Fatalf("%v", err)
	}
}

// Configs returns TLS settings for a server at 127.0.0.1 and for a client that trusts the server.
// The certificates are valid for one hour.
func Configs(t T) (server, client *tls.Config) {
	a := NewAuthority(t, "test authority")
	pair := a.Issue(t, "server", time.Now().Add(time.Hour)).TLS(t)
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		&tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// ServerFiles writes the certificate and key for a server at 127.0.0.1 into the folder, and returns
// TLS settings for a client that trusts the server. The certificate is valid for one hour.
func ServerFiles(t T, dir string) (certFile, keyFile string, client *tls.Config) {
	a := NewAuthority(t, "test authority")
	certFile, keyFile = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	a.Issue(t, "server", time.Now().Add(time.Hour)).Write(t, certFile, keyFile)
	return certFile, keyFile, &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}
