package host

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Authority is a certificate authority. All certificates that it issues have the same validity
// period as its own certificate.
type Authority struct {
	PEM  []byte // the authority's own certificate
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority creates an authority with the given common name and validity period.
func NewAuthority(name string, from, until time.Time) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: from, NotAfter: until,
	}}
	a.PEM, err = a.sign(a.cert, key.Public())
	return a, err
}

// Issue creates a private key and a certificate for it, and returns both as PEM. The caller sets
// the addresses and the extended key usages in c. Issue sets the name, the serial number and the
// validity period.
func (a *Authority) Issue(name string, c *x509.Certificate) (cert, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	c.Subject, c.KeyUsage = pkix.Name{CommonName: name}, x509.KeyUsageDigitalSignature
	c.NotBefore, c.NotAfter = a.cert.NotBefore, a.cert.NotAfter
	if cert, err = a.sign(c, private.Public()); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func newKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot create a private key: %w", err)
	}
	return key, nil
}

func (a *Authority) sign(c *x509.Certificate, public any) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("cannot generate a serial number for a certificate: %w", err)
	}
	c.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
