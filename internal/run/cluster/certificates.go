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

// shownWithin limits the wait until a member presents a new certificate. The certificate is read at
// intervals of shownEvery.
const (
	shownWithin = 10 * time.Second
	shownEvery  = 50 * time.Millisecond
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
	for _, at := range places {
		if all[at.Name], err = c.issue(at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// securedPeers reports whether members use TLS when they connect to each other.
func (c *Cluster) securedPeers() bool {
	s, ok := c.spec.Settings.(store.LaunchSettings)
	return ok && s.SecuredPeers()
}

// issue creates a certificate for a member.
func (c *Cluster) issue(at kv.MemberPlace) (made kv.Credentials, err error) {
	made.Authority = c.authority.PEM
	addresses := []net.IP{net.ParseIP(at.Host)}
	if addresses[0].IsLoopback() { // members connect to each other from these addresses, and etcd checks that the certificate contains them
		addresses = append(addresses, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	}
	made.Certificate, made.Key, err = c.authority.Issue(at.Name, &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: addresses,
	})
	return made, err
}

// trust adds the authority of the members' certificates, if they have any, so that clients with
// this access trust them.
func (c *Cluster) trust(a *store.Access) {
	if c.authority == nil {
		return
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.authority.PEM)
	a.Authority, a.TLS = c.authority.PEM, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// NewCertificate implements Running.
func (c *Cluster) NewCertificate(ctx context.Context, name string) error {
	m, i, err := c.find(name)
	if err != nil {
		return err
	}
	at := m.asked.Members[i]
	of, ok := c.store.(store.Embedded)
	if c.authority == nil || !ok {
		return fmt.Errorf("member %s has no certificate, because it does not use TLS", name)
	}
	made, err := c.issue(at)
	if err != nil {
		return err
	}
	certificate, key := of.CertificateFiles(at)
	again := c.keep(m, name, certificate, key, made)
	if r, itself := m.place.host.(host.Renewer); itself {
		err = r.Renew(ctx, again)
	} else {
		err = replaceFiles(ctx, m.place.host, certificate, key, made)
	}
	if err != nil {
		return err
	}
	return c.awaitShown(ctx, m, at, made)
}

// keep stores the new credentials of the member for its later starts. It returns the launch for
// these starts.
func (c *Cluster) keep(m *member, name, certificate, key string, made kv.Credentials) host.Launch {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	m.asked.Credentials[name] = made // this map is shared by all members
	m.launch.Files[certificate], m.launch.Files[key] = made.Certificate, made.Key
	of := m.of
	of.Process, of.Credentials = name, map[string]kv.Credentials{}
	maps.Copy(of.Credentials, m.asked.Credentials)
	return of
}

// replaceFiles replaces a member's credentials. Between the two writes, the key does not match the
// certificate, so the member rejects connections. Every tool that replaces the two files has this
// effect.
func replaceFiles(ctx context.Context, h host.Host, certificate, key string, c kv.Credentials) error {
	return errors.Join(h.WriteFile(ctx, key, c.Key), h.WriteFile(ctx, certificate, c.Certificate))
}

// awaitShown waits until a member presents a certificate to clients and, if members use TLS between
// each other, also to other members.
func (c *Cluster) awaitShown(ctx context.Context, m *member, at kv.MemberPlace, made kv.Credentials) error {
	pair, err := tls.X509KeyPair(made.Certificate, made.Key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	ticker := time.NewTicker(shownEvery)
	defer ticker.Stop()
	access, endpoints := c.Access(), []string{m.description().Endpoint}
	if s, ok := c.spec.Settings.(store.LaunchSettings); ok && s.SecuredPeers() {
		endpoints = append(endpoints, at.Address(s.PeerPort()))
		access.TLS.Certificates = []tls.Certificate{pair} // the client certificate; that of any other member would also be accepted
	}
	for {
		if err = checkShown(ctx, &access, endpoints, pair.Leaf); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s did not present its new certificate within %s: %w", m.description().Name, shownWithin, err)
		}
	}
}

// checkShown returns an error unless all endpoints present the certificate.
func checkShown(ctx context.Context, a *store.Access, endpoints []string, want *x509.Certificate) error {
	for _, endpoint := range endpoints {
		shown, err := certificateOf(ctx, a, endpoint)
		if err != nil {
			return err
		}
		if !shown.Equal(want) {
			return fmt.Errorf("the member still presents its previous certificate at %s", endpoint)
		}
	}
	return nil
}

// certificateOf returns the certificate that an endpoint presents.
func certificateOf(ctx context.Context, a *store.Access, endpoint string) (*x509.Certificate, error) {
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
