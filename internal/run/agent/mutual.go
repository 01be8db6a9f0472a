package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// Mutual is a Transport that uses mutual TLS, with credentials in memory, over a connection that
// the function Over opens.
type Mutual struct {
	Over        func(context.Context) (net.Conn, error)
	Name        string // the name in the agent's certificate
	Credentials Credentials
}

var _ Transport = (*Mutual)(nil)

// Dial implements Transport.
func (m *Mutual) Dial(ctx context.Context) (net.Conn, error) {
	pair, err := tls.X509KeyPair(m.Credentials[controllerName+".crt"], m.Credentials[controllerName+".key"])
	if err != nil {
		return nil, fmt.Errorf("cannot use the controller's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(m.Credentials[caName+".crt"]) {
		return nil, errors.New("the authority's certificate is missing")
	}
	plain, err := m.Over(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}, RootCAs: pool, ServerName: m.Name}
	return secureClient(ctx, plain, config, Target{Address: m.Name, CACert: "this run", Cert: "of this run"})
}

// Close implements Transport.
func (*Mutual) Close() error { return nil }
