package agent

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Certificates contains the paths of the files that MakeCertificates wrote.
type Certificates struct {
	CA         string   // the authority's certificate; the authority's key is not stored
	Controller string   // path of the controller's files without .crt and .key
	Hosts      []string // paths of the hosts' files without .crt and .key, in the order of the hosts
}

// hostName matches a DNS name that is also a valid file name.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// backdating is the time between the beginning of a certificate's validity and its creation. The
// validity begins earlier because clocks differ.
const backdating = 10 * time.Minute

// MakeCertificates creates an authority, a certificate for the agent on each host, and a
// certificate for a controller. A host is a DNS name or an IP address. All certificates are valid
// from now for the given time. MakeCertificates writes them into a folder that must not contain
// files with the same names. It discards the authority's key, so no other certificate can be signed
// later.
func MakeCertificates(dir string, hosts []string, valid time.Duration, now time.Time) (Certificates, error) {
	credentials, err := NewCredentials(hosts, valid, now)
	if err != nil {
		return Certificates{}, err
	}
	if err := credentials.write(dir); err != nil {
		return Certificates{}, err
	}
	certs := Certificates{CA: filepath.Join(dir, caName+".crt"), Controller: filepath.Join(dir, controllerName)}
	for _, name := range hosts {
		certs.Hosts = append(certs.Hosts, filepath.Join(dir, name))
	}
	return certs, nil
}

// Credentials contains certificates and keys in PEM format. Each key of the map is the name of the
// file that MakeCertificates would write.
type Credentials map[string][]byte

// NewCredentials creates the same certificates as MakeCertificates, but writes no files.
func NewCredentials(hosts []string, valid time.Duration, now time.Time) (Credentials, error) {
	if err := checkHosts(hosts); err != nil {
		return nil, err
	}
	authority, err := host.NewAuthority("quorumbench agents", now.Add(-backdating), now.Add(valid))
	if err != nil {
		return nil, err
	}
	certs := Credentials{caName + ".crt": authority.PEM}
	if err := certs.issue(authority, controllerName, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return nil, err
	}
	for _, name := range hosts {
		c := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = []net.IP{ip}
		} else {
			c.DNSNames = []string{name}
		}
		if err := certs.issue(authority, name, c); err != nil {
			return nil, err
		}
	}
	return certs, nil
}

// issue adds a certificate as NAME.crt, and its key as NAME.key.
func (c Credentials) issue(authority *host.Authority, name string, template *x509.Certificate) (err error) {
	c[name+".crt"], c[name+".key"], err = authority.Issue(name, template)
	return err
}

// write writes the files into a folder. It returns an error if a file with the same name exists. It
// writes the authority's certificate first, and each key before the key's certificate.
func (c Credentials) write(dir string) error {
	if _, err := host.CreateFolders(dir); err != nil {
		return err
	}
	folder, err := host.OpenFolder(dir)
	if err != nil {
		return fmt.Errorf("cannot open the folder %s: %w", dir, host.Cause(err))
	}
	defer folder.Close()
	if err := folder.CheckOwner(); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(c))
	slices.Reverse(names) // NAME.key before NAME.crt
	isAuthority := func(name string) bool { return name == caName+".crt" }
	names = append([]string{caName + ".crt"}, slices.DeleteFunc(names, isAuthority)...)
	for _, name := range names {
		if err := folder.Create(name, c[name]); err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(dir, name), host.Cause(err))
		}
	}
	return nil
}

// Files returns the files for the hosts' agents: the authority's certificate, and the certificate
// and key of each host. It omits the controller's files.
func (c Credentials) Files() map[string][]byte {
	files := maps.Clone(map[string][]byte(c))
	delete(files, controllerName+".crt")
	delete(files, controllerName+".key")
	return files
}

// checkHosts returns an error if no certificate can be created for one of the hosts.
func checkHosts(hosts []string) error {
	if len(hosts) == 0 {
		return errors.New("specify at least one host to create a certificate for")
	}
	for i, name := range hosts {
		switch {
		case net.ParseIP(name) == nil && !hostName.MatchString(name):
			return fmt.Errorf("%q is neither a host's name nor an IP address", name)
		case slices.Contains(hosts[:i], name):
			return fmt.Errorf("the host %s is specified twice; specify each host once", name)
		case name == caName || name == controllerName:
			return fmt.Errorf("a host cannot be named %s, because another certificate file has this name", name)
		}
	}
	return nil
}

// Names of the files that do not belong to a host.
const (
	caName         = "ca"
	controllerName = "controller"
)

// formatDay formats a time for errors about certificates.
func formatDay(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
