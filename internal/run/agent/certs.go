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

// Certificates holds the paths of the files that MakeCertificates wrote.
type Certificates struct {
	CA         string   // the authority's certificate; its key is not written
	Controller string   // the name of the controller's files, without .crt and .key
	Hosts      []string // the names of the hosts' files, without .crt and .key, in the order of the hosts
}

// hostName matches a DNS name that is also a valid file name.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// early is how long before its creation a certificate becomes valid, because clocks differ.
const early = 10 * time.Minute

// MakeCertificates makes an authority, a certificate for the agent on each host, which is a
// DNS name or an IP address, and one for a controller. All are valid from now for the given
// time. It writes them into a folder that must not contain such files yet. The authority's
// key is discarded, so no further certificate can be signed with it.
func MakeCertificates(dir string, hosts []string, valid time.Duration, now time.Time) (Certificates, error) {
	var made Certificates
	if err := checkHosts(hosts); err != nil {
		return made, err
	}
	if _, err := host.MakeFolders(dir); err != nil {
		return made, err
	}
	folder, err := host.OpenFolder(dir)
	if err != nil {
		return made, fmt.Errorf("the folder %s cannot be opened: %w", dir, host.Cause(err))
	}
	defer folder.Close()
	if err := folder.CheckOwner(); err != nil {
		return made, err
	}
	err = sign(hosts, valid, now, func(name string, contents []byte) error {
		if err := folder.Create(name, contents); err != nil {
			return fmt.Errorf("%s cannot be written: %w", filepath.Join(dir, name), host.Cause(err))
		}
		return nil
	})
	if err != nil {
		return made, err
	}
	made.CA, made.Controller = filepath.Join(dir, caName+".crt"), filepath.Join(dir, controllerName)
	for _, name := range hosts {
		made.Hosts = append(made.Hosts, filepath.Join(dir, name))
	}
	return made, nil
}

// Credentials holds certificates and keys in PEM, by the names of the files that
// MakeCertificates would write.
type Credentials map[string][]byte

// NewCredentials makes the same certificates as MakeCertificates and writes no files.
func NewCredentials(hosts []string, valid time.Duration, now time.Time) (Credentials, error) {
	if err := checkHosts(hosts); err != nil {
		return nil, err
	}
	made := Credentials{}
	return made, sign(hosts, valid, now, func(name string, contents []byte) error {
		made[name] = contents
		return nil
	})
}

// Files returns the files for the hosts' agents: the authority's certificate and the hosts'
// pairs, without the controller's pair.
func (c Credentials) Files() map[string][]byte {
	files := maps.Clone(map[string][]byte(c))
	delete(files, controllerName+".crt")
	delete(files, controllerName+".key")
	return files
}

// checkHosts refuses hosts for which no certificate can be made.
func checkHosts(hosts []string) error {
	if len(hosts) == 0 {
		return errors.New("there is no host to make a certificate for")
	}
	for i, name := range hosts {
		switch {
		case net.ParseIP(name) == nil && !hostName.MatchString(name):
			return fmt.Errorf("%q is neither a host's name nor an IP address", name)
		case slices.Contains(hosts[:i], name):
			return fmt.Errorf("the host %s is given twice", name)
		case name == caName || name == controllerName:
			return fmt.Errorf("a host cannot be named %s: another certificate file has this name", name)
		}
	}
	return nil
}

// sign makes the certificates and calls write for each file.
func sign(hosts []string, valid time.Duration, now time.Time, write func(name string, contents []byte) error) error {
	of, err := host.NewAuthority("quorumbench agents", now.Add(-early), now.Add(valid))
	if err != nil {
		return err
	}
	w := signer{write, of}
	if err := write(caName+".crt", of.PEM); err != nil {
		return err
	}
	if err := w.pair(controllerName, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return err
	}
	for _, name := range hosts {
		c := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = []net.IP{ip}
		} else {
			c.DNSNames = []string{name}
		}
		if err := w.pair(name, c); err != nil {
			return err
		}
	}
	return nil
}

// Names of the files that are not a host's.
const (
	caName         = "ca"
	controllerName = "controller"
)

// signer makes certificates signed by one authority.
type signer struct {
	write func(name string, contents []byte) error
	*host.Authority
}

// pair writes NAME.crt and NAME.key.
func (w *signer) pair(name string, c *x509.Certificate) error {
	cert, key, err := w.Issue(name, c)
	if err != nil {
		return err
	}
	if err := w.write(name+".key", key); err != nil {
		return err
	}
	return w.write(name+".crt", cert)
}

// day formats a time for errors about certificates.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
