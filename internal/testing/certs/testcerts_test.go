package certs

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// shake shakes hands over loopback and returns what the client says. A pipe
// has no buffer: a client that writes its alert while the server still writes
// its certificate would wait for ever.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		there, err := listener.Accept()
		if err != nil {
			return
		}
		_ = there.(*tls.Conn).Handshake()
		_ = there.Close()
	}()
	defer func() {
		_ = listener.Close()
		<-done
	}()
	here, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", listener.Addr().String(), client)
	if err != nil {
		return err
	}
	return here.Close()
}

// Who trusts the authority accepts what it signed until its time is over, and
// nobody else does.
func TestTrust(t *testing.T) {
	server, client := Configs(t)
	if err := shake(t, server, client); err != nil {
		t.Error(err)
	}
	a := NewAuthority(t, "another")
	if shake(t, server, &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1"}) == nil {
		t.Error("a stranger is trusted")
	}
	old := a.Issue(t, "old", time.Now().Add(-time.Minute)).TLS(t)
	if shake(t, &tls.Config{Certificates: []tls.Certificate{old}}, &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1"}) == nil {
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
