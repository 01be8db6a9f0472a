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

// envPrefix is the prefix of a reference to a password. The text after the prefix is the name of
// the environment variable that contains the password. Such a reference is safer than the password
// itself, because every user of the machine can read the command line.
const envPrefix = "env:"

// ReadAccess reads the files and environment variables that `attach` refers to, and returns the
// access to the cluster.
func ReadAccess(attach *scenario.RunningCluster) (store.Access, error) {
	carried, err := CarryAccess(attach)
	if err != nil {
		return store.Access{Endpoints: attach.Endpoints, DialTimeout: attach.DialTimeout}, err
	}
	return buildAccess(&carried, attach)
}

// CarriedAccess returns the access that `attach` describes, which is a result of CarryAccess. It
// does not use files or environment variables of this machine. Its error texts do not contain
// certificates, keys or passwords.
func CarriedAccess(attach *scenario.RunningCluster) (store.Access, error) {
	return buildAccess(attach, &scenario.RunningCluster{CACert: "in the assignment", Cert: "in the assignment", CertKey: "in the assignment"})
}

// CarryAccess returns a copy of `attach` for a worker on another machine. The copy contains the PEM
// data of the certificates and keys instead of the file names, and the password instead of the name
// of its environment variable.
func CarryAccess(attach *scenario.RunningCluster) (scenario.RunningCluster, error) {
	out := *attach
	if name, password, ok := strings.Cut(attach.User, ":"); ok {
		if variable, ok := strings.CutPrefix(password, envPrefix); ok {
			if password = os.Getenv(variable); password == "" {
				return out, fmt.Errorf("cannot read the password of the user %q: the environment variable %q is not set; set it, or write NAME:PASSWORD", name, variable)
			}
			out.User = name + ":" + password
		}
	}
	for _, file := range []struct {
		path     string
		contents *string
		problem  string
	}{
		{attach.CACert, &out.CACert, "the CA certificate cannot be read"},
		{attach.Cert, &out.Cert, fmt.Sprintf("the client certificate %s and key %s cannot be used", attach.Cert, attach.CertKey)},
		{attach.CertKey, &out.CertKey, fmt.Sprintf("the client certificate %s and key %s cannot be used", attach.Cert, attach.CertKey)},
	} {
		if file.path == "" {
			continue
		}
		pem, err := files.Read(file.path, maxPEM)
		if err != nil {
			return out, fmt.Errorf("%s: %w; give the path of a PEM file that this user can read", file.problem, err)
		}
		*file.contents = string(pem)
	}
	if attach.Authority != "" {
		out.CACert, out.Authority = attach.Authority, ""
	}
	return out, nil
}

// buildAccess returns the access that `attach` describes, which is a result of CarryAccess. Its
// error texts contain the file names from `names`.
func buildAccess(attach, names *scenario.RunningCluster) (store.Access, error) {
	access := store.Access{Endpoints: attach.Endpoints, DialTimeout: attach.DialTimeout}
	if attach.User != "" {
		name, password, ok := strings.Cut(attach.User, ":")
		if !ok {
			return access, fmt.Errorf("the user %q has no password; write NAME:PASSWORD", name)
		}
		access.User, access.Password = name, password
	}
	if !attach.UsesTLS() {
		return access, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: attach.SkipVerify}
	if attach.CACert != "" {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM([]byte(attach.CACert)) {
			return access, fmt.Errorf("the file %s with CA certificates contains no certificate in PEM format", names.CACert)
		}
	}
	if attach.Cert != "" || attach.CertKey != "" {
		pair, err := tls.X509KeyPair([]byte(attach.Cert), []byte(attach.CertKey))
		if err != nil {
			return access, fmt.Errorf("the client certificate %s and key %s cannot be used: %w", names.Cert, names.CertKey, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	access.TLS = cfg
	return access, nil
}
