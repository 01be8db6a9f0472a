package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The validity of certificates begins long before the run and ends long after it, because clocks
// differ and may be set during the run.
const (
	validBefore = 24 * time.Hour
	validAfter  = 365 * 24 * time.Hour
)

// certificateTimeout limits the wait until a member presents a new certificate. The certificate is
// read at intervals of certificatePollInterval.
const (
	certificateTimeout      = 10 * time.Second
	certificatePollInterval = 50 * time.Millisecond
)

// makeCredentials creates certificates for the members if they use TLS.
func (c *Cluster) makeCredentials(places []kv.MemberPlace) (all map[string]kv.Credentials, err error) {
	s, ok := c.spec.Settings.(store.LaunchSettings)
	if !ok || !s.Secured() {
		return nil, nil
	}
	now := time.Now()
	if c.authority, err = host.NewAuthority("quorumbench run", now.Add(-validBefore), now.Add(validAfter)); err != nil {
		return nil, err
	}
	all = map[string]kv.Credentials{}
	for _, memberPlace := range places {
		if all[memberPlace.Name], err = c.issueCredentials(memberPlace); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// peersUseTLS reports whether members use TLS when they connect to each other.
func (c *Cluster) peersUseTLS() bool {
	s, ok := c.spec.Settings.(store.LaunchSettings)
	return ok && s.SecuredPeers()
}

// issueCredentials creates a certificate for a member.
func (c *Cluster) issueCredentials(memberPlace kv.MemberPlace) (credentials kv.Credentials, err error) {
	credentials.Authority = c.authority.PEM
	addresses := []net.IP{net.ParseIP(memberPlace.Host)}
	if addresses[0].IsLoopback() { // members connect to each other from these addresses, and etcd checks that the certificate contains them
		addresses = append(addresses, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	}
	credentials.Certificate, credentials.Key, err = c.authority.Issue(memberPlace.Name, &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: addresses,
	})
	return credentials, err
}

// trust makes clients with the given access trust the members' certificates: it adds the authority
// that signed these certificates. If members have no certificates, it does nothing.
func (c *Cluster) trust(a *store.Access) {
	if c.authority == nil {
		return
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.authority.PEM)
	a.Authority, a.TLS = c.authority.PEM, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// NewCertificate gives a new certificate to a member that uses TLS. It returns when the member
// presents this certificate.
func (c *Cluster) NewCertificate(ctx context.Context, name string) error {
	m, i, err := c.find(name)
	if err != nil {
		return err
	}
	memberPlace := m.spec.Members[i]
	embedded, ok := c.store.(store.Embedded)
	if c.authority == nil || !ok {
		return fmt.Errorf("member %s has no certificate, because it does not use TLS", name)
	}
	credentials, err := c.issueCredentials(memberPlace)
	if err != nil {
		return err
	}
	certificate, key := embedded.CertificateFiles(memberPlace)
	newLaunch := c.storeCredentials(m, name, certificate, key, credentials)
	if r, remote := m.place.host.(host.Remote); remote {
		err = r.Renew(ctx, newLaunch)
	} else {
		err = replaceFiles(ctx, m.place.host, certificate, key, credentials)
	}
	if err != nil {
		return err
	}
	return c.awaitCertificate(ctx, m, memberPlace, credentials)
}

// storeCredentials stores the new credentials of the member for its later starts. It returns the
// launch for these starts.
func (c *Cluster) storeCredentials(m *member, name, certificate, key string, credentials kv.Credentials) host.Launch {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	m.spec.Credentials[name] = credentials // this map is shared by all members
	m.launch.Files[certificate], m.launch.Files[key] = credentials.Certificate, credentials.Key
	of := m.hostLaunch
	of.Process, of.Credentials = name, map[string]kv.Credentials{}
	maps.Copy(of.Credentials, m.spec.Credentials)
	return of
}

// replaceFiles replaces a member's credentials. Between the two writes, the key does not match the
// certificate, so the member rejects connections. Every tool that replaces the two files has this
// effect.
func replaceFiles(ctx context.Context, h host.Host, certificate, key string, c kv.Credentials) error {
	return errors.Join(h.WriteFile(ctx, key, c.Key), h.WriteFile(ctx, certificate, c.Certificate))
}

// awaitCertificate waits until a member presents a certificate to clients and, if members use TLS
// when they connect to each other, also to other members.
func (c *Cluster) awaitCertificate(ctx context.Context, m *member, memberPlace kv.MemberPlace, credentials kv.Credentials) error {
	pair, err := tls.X509KeyPair(credentials.Certificate, credentials.Key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, certificateTimeout)
	defer cancel()
	ticker := time.NewTicker(certificatePollInterval)
	defer ticker.Stop()
	access, endpoints := c.Access(), []string{m.description().Endpoint}
	if s, ok := c.spec.Settings.(store.LaunchSettings); ok && s.SecuredPeers() {
		endpoints = append(endpoints, memberPlace.Address(s.PeerPort()))
		access.TLS.Certificates = []tls.Certificate{pair} // the client certificate; the certificate of any other member would also be accepted
	}
	for {
		if err = checkCertificates(ctx, &access, endpoints, pair.Leaf); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s did not present its new certificate within %s: %w", m.description().Name, certificateTimeout, err)
		}
	}
}

// checkCertificates returns an error unless all endpoints present the certificate.
func checkCertificates(ctx context.Context, a *store.Access, endpoints []string, want *x509.Certificate) error {
	for _, endpoint := range endpoints {
		shown, err := fetchCertificate(ctx, a, endpoint)
		if err != nil {
			return err
		}
		if !shown.Equal(want) {
			return fmt.Errorf("the member still presents its previous certificate at %s", endpoint)
		}
	}
	return nil
}

// fetchCertificate returns the certificate that an endpoint presents.
func fetchCertificate(ctx context.Context, a *store.Access, endpoint string) (*x509.Certificate, error) {
	conn, err := a.ConnectSecure(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the connection was opened only for the handshake
	secure, ok := conn.(*tls.Conn)
	if !ok || len(secure.ConnectionState().PeerCertificates) == 0 {
		return nil, errors.New("the member presents no certificate")
	}
	return secure.ConnectionState().PeerCertificates[0], nil
}
