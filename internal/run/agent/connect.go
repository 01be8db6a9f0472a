package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/load"
)

// maxPEM is the maximum size of a certificate file in bytes. It is far more than such a file needs.
const maxPEM = 1 << 20

// protocol is gRPC's protocol name in ALPN.
const protocol = "h2"

// readAuthority reads an authority's certificates.
func readAuthority(file string) (*x509.CertPool, error) {
	pem, err := files.Read(file, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA certificate file %s contains no certificate in PEM format", file)
	}
	return pool, nil
}

// newTLSConfig returns the TLS settings that both sides share: TLS 1.3, a certificate and an
// authority.
func newTLSConfig(caFile, certFile, keyFile string, usage x509.ExtKeyUsage) (*tls.Config, *x509.CertPool, error) {
	if caFile == "" || certFile == "" || keyFile == "" {
		return nil, nil, errors.New("mutual TLS requires a certificate, its key and the CA certificate; specify all three")
	}
	pool, err := readAuthority(caFile)
	if err != nil {
		return nil, nil, err
	}
	pair, err := load.KeyPair(certFile, keyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", certFile, keyFile, err)
	}
	if err := checkUsage(pair.Leaf, usage); err != nil {
		return nil, nil, fmt.Errorf("cannot use the certificate %s: %w", certFile, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}, pool, nil
}

// checkUsage returns an error if the certificate is not for the given usage: server authentication
// for agents, client authentication for controllers.
func checkUsage(c *x509.Certificate, usage x509.ExtKeyUsage) error {
	for _, u := range c.ExtKeyUsage {
		if u == usage || u == x509.ExtKeyUsageAny {
			return nil
		}
	}
	if usage == x509.ExtKeyUsageServerAuth {
		return errors.New("it is not a server certificate, which an agent requires")
	}
	return errors.New("it is not a client certificate, which a controller requires")
}

// ServerTLS returns an agent's TLS settings, which reject clients without a certificate from the
// same authority.
func ServerTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	c, pool, err := newTLSConfig(caFile, certFile, keyFile, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool
	return c, nil
}

// prefixedConn is a connection whose first bytes have already been read.
type prefixedConn struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (b *prefixedConn) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

// connect opens a connection to an agent and completes the TLS handshake.
func connect(ctx context.Context, t Target) (net.Conn, error) {
	if t.Transport != nil {
		return t.Transport.Dial(ctx)
	}
	networkName, socketAddress := network(t.Address)
	var config *tls.Config
	switch certificates := t.CACert != "" || t.Cert != "" || t.Key != ""; {
	case networkName == "unix" && certificates:
		return nil, errors.New("an agent at a Unix socket does not use certificates; omit them")
	case networkName != "unix":
		c, pool, err := newTLSConfig(t.CACert, t.Cert, t.Key, x509.ExtKeyUsageClientAuth)
		if err != nil {
			return nil, err
		}
		c.RootCAs, c.ServerName = pool, stripPort(socketAddress)
		config = c
	}
	plainConn, err := (&net.Dialer{}).DialContext(ctx, networkName, socketAddress)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	if config == nil {
		return plainConn, nil
	}
	return secureClient(ctx, plainConn, config, t)
}

// secureClient completes the TLS handshake with the agent t over an open connection. If it returns
// an error, it closes the connection.
func secureClient(ctx context.Context, plain net.Conn, config *tls.Config, t Target) (net.Conn, error) {
	c, err := awaitAcceptance(ctx, tls.Client(plain, config))
	if err != nil {
		_ = plain.Close() // err is more important
		return nil, explainRefusal(t, err)
	}
	return c, nil
}

// awaitAcceptance completes the TLS handshake and reads the first bytes of HTTP/2. With TLS 1.3,
// the other side may reject our certificate after our part of the handshake is complete. Only the
// read reveals the rejection.
func awaitAcceptance(ctx context.Context, c *tls.Conn) (net.Conn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.NetConn().Close() })
	defer stop()
	first := make([]byte, 512)
	n, err := c.Read(first)
	if err != nil {
		return nil, err
	}
	return &prefixedConn{c, first[:n]}, nil
}

// explainRefusal explains why we reject the agent's certificate or why the handshake failed.
func explainRefusal(t Target, err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the agent's certificate is not signed by the CA in %s", t.CACert)
	case errors.As(err, &name):
		return fmt.Errorf("the agent's certificate is not valid for the host %s", stripPort(t.Address))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("the agent's certificate is valid only from %s to %s", formatDay(invalid.Cert.NotBefore), formatDay(invalid.Cert.NotAfter))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return errors.New("the agent's certificate is not a server certificate")
	case errors.As(err, &alert) && alert.Op == "remote error":
		return fmt.Errorf("the agent rejects the certificate %s: %w", t.Cert, alert.Err)
	case errors.Is(err, io.EOF):
		return errors.New("the connection was closed during the TLS handshake; check that an agent listens at this address")
	}
	return fmt.Errorf("the TLS handshake failed: %w", err)
}
