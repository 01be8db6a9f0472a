package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// A controller without a valid certificate from the same authority is rejected. The error contains
// the reason.
func TestRefusesControllersCertificates(t *testing.T) {
	_, to := served(t, nil)
	foreign := certificates(t, "127.0.0.1")
	dir := t.TempDir()
	expired, err := MakeCertificates(dir, []string{"127.0.0.1"}, time.Hour, time.Now().Add(-2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Target){
		"is not signed by the CA in " + foreign.CA: func(to *Target) { to.CACert = foreign.CA },
		"the agent rejects the certificate " + foreign.Controller: func(to *Target) {
			to.Cert, to.Key = foreign.Controller+".crt", foreign.Controller+".key"
		},
		"the agent rejects the certificate " + expired.Controller: func(to *Target) {
			to.Cert, to.Key = expired.Controller+".crt", expired.Controller+".key"
		},
		"it is not a client certificate": func(to *Target) {
			to.Cert, to.Key = foreign.Hosts[0]+".crt", foreign.Hosts[0]+".key"
		},
		"specify all three":                           func(to *Target) { to.Cert, to.Key = "", "" },
		"cannot read":                                 func(to *Target) { to.CACert = filepath.Join(dir, "none") },
		"contains no certificate in PEM format":       func(to *Target) { to.CACert = to.Key },
		"cannot use":                                  func(to *Target) { to.Key = foreign.Controller + ".key" },
		"certificate is not valid for the host local": func(to *Target) { to.Address = strings.Replace(to.Address, "127.0.0.1", "localhost", 1) },
	} {
		one := to
		change(&one)
		r, err := Dial(t.Context(), one)
		if err == nil {
			_ = r.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "agent there: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %v", want, err)
		}
	}
}

// A controller without a certificate receives nothing, whatever it sends.
func TestRefusesControllersWithoutACertificate(t *testing.T) {
	_, to := served(t, nil)
	pool, err := readAuthority(to.CACert)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.Dial("tcp", to.Address, &tls.Config{RootCAs: pool, NextProtos: []string{protocol}, ServerName: "127.0.0.1"})
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		_, err = c.Read(make([]byte, 1))
		_ = c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v", err)
	}
}

// refusing starts a server that presents the given certificate.
func refusing(t *testing.T, pair string) (address string) {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(pair+".crt", pair+".key")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// A server that cannot prove that it is the agent receives nothing.
func TestRefusesAgentsCertificates(t *testing.T) {
	c := certificates(t, "127.0.0.1")
	dir := t.TempDir()
	expired, err := MakeCertificates(dir, []string{"127.0.0.1"}, time.Hour, time.Now().Add(-2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	misused := t.TempDir()
	of, err := host.NewAuthority("others", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	written := Credentials{"ca.crt": of.PEM}
	client := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if err := errors.Join(written.issue(of, "both", client), written.write(misused)); err != nil {
		t.Fatal(err)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := mute.Addr().String()
	_ = mute.Close()
	for want, test := range map[string]struct{ address, ca string }{
		"certificate is not a server certificate": {refusing(t, filepath.Join(misused, "both")), filepath.Join(misused, "ca.crt")},
		"certificate is valid only from":          {refusing(t, expired.Hosts[0]), expired.CA},
		"cannot connect":                          {closed, c.CA},
	} {
		_, err := Dial(t.Context(), Target{Address: test.address, CACert: test.ca, Cert: c.Controller + ".crt", Key: c.Controller + ".key"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %v", want, err)
		}
	}
	if _, err := ServerTLS(c.CA, c.Controller+".crt", c.Controller+".key"); err == nil || !strings.Contains(err.Error(), "not a server certificate") {
		t.Errorf("an agent with a controller's certificate: %v", err)
	}
}

// Only our user can read the files, and no file is overwritten.
func TestMakeCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	hosts := []string{"10.0.0.1", "db2.example.org", "::1"}
	c, err := MakeCertificates(dir, hosts, time.Hour, time.Now())
	if err != nil || len(c.Hosts) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 9 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	for _, name := range append([]string{c.Controller}, c.Hosts...) {
		if _, err := tls.LoadX509KeyPair(name+".crt", name+".key"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, hosts := range map[string][]string{
		"specify at least one host": nil, "neither a host's name": {"a/b"}, `"../a"`: {"../a"}, "specified twice": {"a", "a"}, "another certificate file": {"ca"},
		"file exists": {"c"}, `""`: {""}, `"a\nb"`: {"a\nb"},
	} {
		if _, err := MakeCertificates(dir, hosts, time.Hour, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a one-line error with %q, got %v", want, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 9 {
		t.Errorf("after errors, the folder contains %v, %v", entries, err)
	}
}
