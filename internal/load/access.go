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

// maxPEM is the maximum size of a PEM file, in bytes.
const maxPEM = 4 << 20

// KeyPair reads a certificate and its private key from files.
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

// fromEnv is a prefix of a password. The text after it is the name of an environment variable that
// contains the actual password. A password on the command line could be read by every user of the
// machine.
const fromEnv = "env:"

// ReadAccess reads the files and environment variables that a refers to, and returns the access to
// the cluster.
func ReadAccess(a *scenario.Attach) (store.Access, error) {
	carried, err := CarryAccess(a)
	if err != nil {
		return store.Access{Endpoints: a.Endpoints, DialTimeout: a.DialTimeout}, err
	}
	return accessOf(&carried, a)
}

// CarriedAccess returns the access that is described by a, a result of CarryAccess. It does not use
// files or environment variables on this machine. The text of its errors contains no part of the
// input.
func CarriedAccess(a *scenario.Attach) (store.Access, error) {
	return accessOf(a, &scenario.Attach{CACert: "that came", Cert: "that came", CertKey: "of it"})
}

// CarryAccess returns a copy of a for a worker on another machine. The copy contains the PEM data
// of the certificates and keys instead of the file names, and the password instead of the name of
// its environment variable.
func CarryAccess(a *scenario.Attach) (scenario.Attach, error) {
	out := *a
	if name, password, ok := strings.Cut(a.User, ":"); ok {
		if variable, ok := strings.CutPrefix(password, fromEnv); ok {
			if password = os.Getenv(variable); password == "" {
				return out, fmt.Errorf("cannot read the password of the user %q: the environment variable %q is not set; set it, or write NAME:PASSWORD", name, variable)
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
			return out, fmt.Errorf("%s: %w; give the path of a PEM file that this user can read", file.wrong, err)
		}
		*file.into = string(pem)
	}
	if a.Authority != "" {
		out.CACert, out.Authority = a.Authority, ""
	}
	return out, nil
}

// accessOf returns the access that is described by a, a result of CarryAccess. The texts of its
// errors contain the file names in names.
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
			return access, fmt.Errorf("the CA certificate %s contains no PEM certificate", names.CACert)
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
