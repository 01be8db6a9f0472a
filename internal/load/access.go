package load

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// maxPEM is far above what a file of certificates has, in bytes.
const maxPEM = 4 << 20

// KeyPair reads a certificate and its key.
func KeyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := files.Read(cert, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := files.Read(key, maxPEM)
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
	carried, err := Carry(a)
	if err != nil {
		return store.Access{Endpoints: a.Endpoints, DialTimeout: a.DialTimeout}, err
	}
	return accessOf(&carried, a)
}

// AccessCarried is AccessOf of what Carry returned, which refers to nothing on this
// machine. Its errors have nothing of what came.
func AccessCarried(a *scenario.Attach) (store.Access, error) {
	return accessOf(a, &scenario.Attach{CACert: "that came", Cert: "that came", CertKey: "of it"})
}

// Carry returns how to reach a cluster with the contents of what it refers to, for
// a worker on another machine: certificates and keys in PEM in place of their
// files, and a password in place of its variable's name.
func Carry(a *scenario.Attach) (scenario.Attach, error) {
	out := *a
	if name, password, ok := strings.Cut(a.User, ":"); ok {
		if variable, ok := strings.CutPrefix(password, fromEnv); ok {
			if password = os.Getenv(variable); password == "" {
				return out, fmt.Errorf("the password of the user %q is to be taken from the environment variable %q, which is not set", name, variable)
			}
			out.User = name + ":" + password
		}
	}
	for _, file := range []struct {
		path  string
		into  *string
		wrong string
	}{
		{a.CACert, &out.CACert, "the CA certificate cannot be read"},
		{a.Cert, &out.Cert, fmt.Sprintf("the client certificate %s and key %s cannot be used", a.Cert, a.CertKey)},
		{a.CertKey, &out.CertKey, fmt.Sprintf("the client certificate %s and key %s cannot be used", a.Cert, a.CertKey)},
	} {
		if file.path == "" {
			continue
		}
		pem, err := files.Read(file.path, maxPEM)
		if err != nil {
			return out, fmt.Errorf("%s: %w", file.wrong, err)
		}
		*file.into = string(pem)
	}
	if a.Authority != "" {
		out.CACert, out.Authority = a.Authority, ""
	}
	return out, nil
}

// accessOf makes what is needed to connect of what was carried; its errors say the
// names.
func accessOf(a, names *scenario.Attach) (store.Access, error) {
	access := store.Access{Endpoints: a.Endpoints, DialTimeout: a.DialTimeout}
	if a.User != "" {
		name, password, ok := strings.Cut(a.User, ":")
		if !ok {
			return access, fmt.Errorf("the user %q has no password: write NAME:PASSWORD", name)
		}
		access.User, access.Password = name, password
	}
	if !a.UsesTLS() {
		return access, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.SkipVerify}
	if a.CACert != "" {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM([]byte(a.CACert)) {
			return access, fmt.Errorf("the CA certificate %s holds no certificate in PEM", names.CACert)
		}
	}
	if a.Cert != "" || a.CertKey != "" {
		pair, err := tls.X509KeyPair([]byte(a.Cert), []byte(a.CertKey))
		if err != nil {
			return access, fmt.Errorf("the client certificate %s and key %s cannot be used: %w", names.Cert, names.CertKey, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	access.TLS = cfg
	return access, nil
}
