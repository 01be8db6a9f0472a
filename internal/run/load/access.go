package load

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readfile"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// maxPEM is far above what a file of certificates has, in bytes.
const maxPEM = 4 << 20

// KeyPair reads a certificate and its key.
func KeyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := readfile.Read(cert, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := readfile.Read(key, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}

// fromEnv begins a password that stands in an environment variable, and not on
// the command line, where every user of the machine can read it.
const fromEnv = "env:"

// AccessOf turns what flags and files say into what is needed to connect.
func AccessOf(a *scenario.Attach) (store.Access, error) {
	access := store.Access{Endpoints: a.Endpoints, DialTimeout: a.DialTimeout}
	if a.User != "" {
		name, password, ok := strings.Cut(a.User, ":")
		if !ok {
			return access, fmt.Errorf("the user %q has no password: write NAME:PASSWORD", name)
		}
		if variable, ok := strings.CutPrefix(password, fromEnv); ok {
			if password = os.Getenv(variable); password == "" {
				return access, fmt.Errorf("the password of the user %q is to be taken from the environment variable %q, which is not set", name, variable)
			}
		}
		access.User, access.Password = name, password
	}
	if !a.UsesTLS() {
		return access, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.SkipVerify}
	if a.CACert != "" {
		pem, err := readfile.Read(a.CACert, maxPEM)
		if err != nil {
			return access, fmt.Errorf("the CA certificate cannot be read: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return access, fmt.Errorf("the CA certificate %s holds no certificate in PEM", a.CACert)
		}
	}
	if a.Cert != "" || a.CertKey != "" {
		pair, err := KeyPair(a.Cert, a.CertKey)
		if err != nil {
			return access, fmt.Errorf("the client certificate %s and key %s cannot be used: %w", a.Cert, a.CertKey, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	access.TLS = cfg
	return access, nil
}
