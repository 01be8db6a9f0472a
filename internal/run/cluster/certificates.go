package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/authority"
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
func (c *Cluster) makeCredentials(places []store.MemberPlace) (all map[string]store.Credentials, err error) {
	s, ok := c.spec.Settings.(store.Secured)
	if !ok || !s.Secured() {
		return nil, nil
	}
	now := time.Now()
	if c.authority, err = authority.New("quorumbench run", now.Add(-validBefore), now.Add(validAfter)); err != nil {
		return nil, err
	}
	all = map[string]store.Credentials{}
	for _, at := range places {
		if all[at.Name], err = c.issue(at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// issue makes a certificate for a member.
func (c *Cluster) issue(at store.MemberPlace) (made store.Credentials, err error) {
	made.Certificate, made.Key, err = c.authority.Issue(at.Name, &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.ParseIP(at.Host)},
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
	of, ok := c.store.(store.CertificateFiles)
	switch {
	case c.authority == nil || !ok:
		return fmt.Errorf("member %s has no certificate: it speaks without TLS", name)
	case m.place.root != "":
		return fmt.Errorf("the certificate of member %s cannot be replaced on the host that it is on", name)
	}
	made, err := c.issue(at)
	if err != nil {
		return err
	}
	certificate, key := of.CertificateFiles(at)
	c.keep(m, name, certificate, key, made)
	if err := replaceFiles(ctx, m.place.host, certificate, key, made); err != nil {
		return err
	}
	return c.shows(ctx, m, made)
}

// keep has the member be started with its new credentials from now on.
func (c *Cluster) keep(m *member, name, certificate, key string, made store.Credentials) {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	m.asked.Credentials[name] = made // of all members, which share it
	m.launch.Files[certificate], m.launch.Files[key] = made.Certificate, made.Key
}

// replaceFiles replaces a member's credentials. Between the two the member has a
// certificate that is not its key's, and refuses connections; as it is with any tool
// that does so.
func replaceFiles(ctx context.Context, h host.Host, certificate, key string, c store.Credentials) error {
	return errors.Join(h.WriteFile(ctx, key, c.Key), h.WriteFile(ctx, certificate, c.Certificate))
}

// shows waits until a member shows a certificate to who connects.
func (c *Cluster) shows(ctx context.Context, m *member, made store.Credentials) error {
	pair, err := tls.X509KeyPair(made.Certificate, made.Key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	ticker := time.NewTicker(shownEvery)
	defer ticker.Stop()
	access, endpoint := c.Access(), m.known().Endpoint
	for {
		shown, err := certificateOf(ctx, &access, endpoint)
		if err == nil && shown.Equal(pair.Leaf) {
			return nil
		}
		if err == nil {
			err = errors.New("it shows the one before")
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not show its new certificate within %s: %w", m.known().Name, shownWithin, err)
		}
	}
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
