package testcerts

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// shake shakes hands over a pipe and returns what the client says.
func shake(server, client *tls.Config) error {
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }()
	go func() {
		_ = tls.Server(there, server).Handshake()
		_ = there.Close()
	}()
	return tls.Client(here, client).Handshake()
}

// Who trusts the authority accepts what it signed until its time is over, and
// nobody else does.
func TestTrust(t *testing.T) {
	server, client := Configs(t)
	if err := shake(server, client); err != nil {
		t.Error(err)
	}
	a := NewAuthority(t, "another")
	if shake(server, &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1"}) == nil {
		t.Error("a stranger is trusted")
	}
	old := a.Issue(t, "old", time.Now().Add(-time.Minute)).TLS(t)
	if shake(&tls.Config{Certificates: []tls.Certificate{old}}, &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1"}) == nil {
		t.Error("an expired certificate is trusted")
	}
}

func TestWrite(t *testing.T) {
	a, dir := NewAuthority(t, "authority"), t.TempDir()
	cert, key := filepath.Join(dir, "a.crt"), filepath.Join(dir, "a.key")
	a.Issue(t, "a", time.Now().Add(time.Hour)).Write(t, cert, key)
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		t.Error(err)
	}
}
