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

// Certificates are valid from before the run, because clocks differ and jump, until long
// after it.
const (
	validBefore = 24 * time.Hour
	validAfter  = 365 * 24 * time.Hour
)

// shownWithin bounds the wait for a member to show a new certificate, and shownEvery is
// the pause before it is looked at again.
const (
	shownWithin = 10 * time.Second
	shownEvery  = 50 * time.Millisecond
)

// makeCredentials makes certificates for members that are to speak TLS.
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

// securedPeers reports whether members speak TLS with each other.
func (c *Cluster) securedPeers() bool {
	s, ok := c.spec.Settings.(store.LaunchSettings)
	return ok && s.SecuredPeers()
}

// issue makes a certificate for a member.
func (c *Cluster) issue(at kv.MemberPlace) (made kv.Credentials, err error) {
	made.Authority = c.authority.PEM
	addresses := []net.IP{net.ParseIP(at.Host)}
	if addresses[0].IsLoopback() { // from which its connections come, and etcd looks at that of a peer
		addresses = append(addresses, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	}
	made.Certificate, made.Key, err = c.authority.Issue(at.Name, &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: addresses,
	})
	return made, err
}

// trust has an access trust the members' certificates, where they have such.
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
		return fmt.Errorf("member %s has no certificate: it speaks without TLS", name)
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
	return c.shows(ctx, m, at, made)
}

// keep has the member be started with its new credentials from now on, and returns what
// it is then started from.
func (c *Cluster) keep(m *member, name, certificate, key string, made kv.Credentials) host.Launch {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	m.asked.Credentials[name] = made // of all members, which share it
	m.launch.Files[certificate], m.launch.Files[key] = made.Certificate, made.Key
	of := m.of
	of.Process, of.Credentials = name, map[string]kv.Credentials{}
	maps.Copy(of.Credentials, m.asked.Credentials)
	return of
}

// replaceFiles replaces a member's credentials. Between the two the member has a
// certificate that is not its key's, and refuses connections; as it is with any tool
// that does so.
func replaceFiles(ctx context.Context, h host.Host, certificate, key string, c kv.Credentials) error {
	return errors.Join(h.WriteFile(ctx, key, c.Key), h.WriteFile(ctx, certificate, c.Certificate))
}

// shows waits until a member shows a certificate to who connects, other members among
// them where they speak TLS with each other.
func (c *Cluster) shows(ctx context.Context, m *member, at kv.MemberPlace, made kv.Credentials) error {
	pair, err := tls.X509KeyPair(made.Certificate, made.Key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	ticker := time.NewTicker(shownEvery)
	defer ticker.Stop()
	access, endpoints := c.Access(), []string{m.known().Endpoint}
	if s, ok := c.spec.Settings.(store.LaunchSettings); ok && s.SecuredPeers() {
		endpoints = append(endpoints, at.Address(s.PeerPort()))
		access.TLS.Certificates = []tls.Certificate{pair} // another member's would do as well
	}
	for {
		if err = showsAt(ctx, &access, endpoints, pair.Leaf); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not show its new certificate within %s: %w", m.known().Name, shownWithin, err)
		}
	}
}

// showsAt returns an error unless a certificate is shown at all endpoints.
func showsAt(ctx context.Context, a *store.Access, endpoints []string, want *x509.Certificate) error {
	for _, endpoint := range endpoints {
		shown, err := certificateOf(ctx, a, endpoint)
		if err != nil {
			return err
		}
		if !shown.Equal(want) {
			return fmt.Errorf("it shows the one before at %s", endpoint)
		}
	}
	return nil
}

// certificateOf is what a member shows.
func certificateOf(ctx context.Context, a *store.Access, endpoint string) (*x509.Certificate, error) {
	conn, err := a.ConnectSecure(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // it was only looked at
	secure, ok := conn.(*tls.Conn)
	if !ok || len(secure.ConnectionState().PeerCertificates) == 0 {
		return nil, errors.New("it shows none")
	}
	return secure.ConnectionState().PeerCertificates[0], nil
}
