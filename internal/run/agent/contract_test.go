package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

const testVersion = "test"

// served starts an agent in this process that listens on loopback with mutual TLS. It returns the
// agent and its target. The agent stops at the end of the test.
func served(t *testing.T, change func(*Options)) (*Server, Target) {
	t.Helper()
	s, to := newAgent(t, change)
	to.Address = servers.Serve(t, servers.Loopback(t), s.Serve)
	return s, to
}

// newAgent returns an agent that does not serve yet, and its target without an address.
func newAgent(t *testing.T, change func(*Options)) (*Server, Target) {
	t.Helper()
	c := certificates(t, "127.0.0.1")
	config, err := ServerTLS(c.CA, c.Hosts[0]+".crt", c.Hosts[0]+".key")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Folder: filepath.Join(t.TempDir(), "agent"), Version: testVersion, Stores: registry.Lookup, TLS: config, Heartbeat: 20 * time.Second,
		Self: "/nowhere/quorumbench",
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, Target{Name: "there", CACert: c.CA, Cert: c.Controller + ".crt", Key: c.Controller + ".key", Version: testVersion}
}

func certificates(t *testing.T, hosts ...string) Certificates {
	t.Helper()
	c, err := MakeCertificates(t.TempDir(), hosts, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialled(t *testing.T, to Target) *Remote {
	t.Helper()
	r, err := Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // Close fails if the agent has already stopped, which is permitted
	return r
}

// anything accepts every command, because the host tests start shells and not the processes of a
// store.
func anything(c host.Command, _ map[string]string) (host.Command, map[string][]byte, error) {
	return c, nil, nil
}

// An agent's machine fulfills the contract of host.Host.
func TestRemoteHost(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	r := dialled(t, to)
	dir := filepath.Join(string(s.folder), "test")
	if err := r.Host().MakeDir(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	hosts.TestHost(t, r.Host(), dir)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Host().Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("a request after the end of the session returned: %v", err)
	}
}

// A Unix socket needs no certificates, because its file mode restricts access.
func TestRemoteHostOverAUnixSocket(t *testing.T) {
	s, err := New(Options{Folder: t.TempDir(), Version: testVersion, Stores: registry.Lookup, Heartbeat: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "socket")
	l, err := Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket's mode is %v, %v", info.Mode(), err)
	}
	servers.Serve(t, l, s.Serve)
	r := dialled(t, Target{Name: "there", Address: "unix:" + path, Version: testVersion})
	d, err := r.Host().Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Folder, string(s.folder)+"/"+sessionPrefix) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := Dial(t.Context(), Target{Address: "unix:" + path, CACert: "ca"}); err == nil || !strings.Contains(err.Error(), "does not use certificates") {
		t.Errorf("connecting to a socket with certificates returned: %v", err)
	}
	if _, err := Listen("unix:" + path); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a second listener: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Version 1.0 and all later versions send the first message in this form. An agent of any other
// version can therefore refuse the controller with a sentence that contains both versions (see
// docs/upgrading.md).
func TestFirstMessageKeepsItsForm(t *testing.T) {
	const want = `{"Version":"v1.0.0 (abc)","Controller":"process 7"}`
	if got, err := json.Marshal(hello{Version: "v1.0.0 (abc)", Controller: "process 7"}); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// An agent serves one controller at a time. The controller must have the same version as the agent.
func TestSessions(t *testing.T) {
	_, to := served(t, nil)
	other := to
	other.Version = "v0.1\n"
	if _, err := Dial(t.Context(), other); err == nil || err.Error() !=
		`agent there: the agent runs quorumbench test, but the controller runs v0.1; use the same version on all machines` {
		t.Errorf("a controller of another version received: %v", err)
	}
	first := dialled(t, to)
	_, err := Dial(t.Context(), to)
	if err == nil || !strings.Contains(err.Error(), "the agent has been serving another controller (process ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a second controller received: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dialled(t, to).Close(); err != nil {
		t.Errorf("a controller that connected after the first session received: %v", err)
	}
}
