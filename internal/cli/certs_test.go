package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificates makes an authority, ca.pem, and what it signed, each with its
// key: server.pem for 127.0.0.1, and expired.pem for the same, until yesterday.
func certificates(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: certificates")
	}
	dir, now := ts.Getenv("WORK"), time.Now()
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
	}
	caKey := certificate(ts, dir, "ca", ca, ca, nil)
	for name, until := range map[string]time.Time{"server": now.AddDate(1, 0, 0), "expired": now.AddDate(0, 0, -1)} {
		certificate(ts, dir, name, &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: ca.NotBefore, NotAfter: until,
		}, ca, caKey)
	}
}

// certificate writes NAME.pem and NAME-key.pem; a nil signer signs itself.
func certificate(ts *testscript.TestScript, dir, name string, of, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	if signer == nil {
		signer = key
	}
	cert, err := x509.CreateCertificate(rand.Reader, of, parent, &key.PublicKey, signer)
	ts.Check(err)
	private, err := x509.MarshalECPrivateKey(key)
	ts.Check(err)
	for file, block := range map[string]*pem.Block{
		name + ".pem":     {Type: "CERTIFICATE", Bytes: cert},
		name + "-key.pem": {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		ts.Check(os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600))
	}
	return key
}
