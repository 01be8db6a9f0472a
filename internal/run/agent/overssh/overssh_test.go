package overssh

import (
	"context"
	"crypto"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// stand is a script that replaces our binary and only prints the agent's address. The tests in
// internal/cli start real agents over ssh.
const stand = "#!/bin/sh\necho \"$4\"\ncat >/dev/null\n"

// reachable returns a server's target, with a separate home folder for ssh's files.
func reachable(t *testing.T, s *servers.SSHServer) Target {
	t.Helper()
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("HOME", t.TempDir())
	return Target{
		Name: "db1", Address: s.Address, Binary: file(t, "quorumbench", stand), StepTimeout: time.Minute,
		Access: Access{KnownHosts: s.KnownHosts, Identity: s.Identity},
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// reached connects to a machine and disconnects, and checks that nothing remains on the machine.
func reached(t *testing.T, s *servers.SSHServer, to Target) {
	t.Helper()
	m, err := Reach(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(m.folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the private folder: %v, %v", info, err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	checkGone(t, s)
}

func checkGone(t *testing.T, s *servers.SSHServer) {
	t.Helper()
	if left, err := os.ReadDir(s.Cache); err != nil && !os.IsNotExist(err) || len(left) > 0 {
		t.Errorf("the machine's folder still contains %v, %v", left, err)
	}
}

// refused checks that a machine cannot be reached and that the error is one sentence.
func refused(t *testing.T, to Target, want ...string) {
	t.Helper()
	m, err := Reach(t.Context(), to)
	if err == nil {
		_ = m.Close()
		t.Fatal("the machine was reached, want a failure")
	}
	for _, part := range append(want, "host db1: ") {
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %v", part, err)
		}
	}
}

func TestHostKeys(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.71")
	to := reachable(t, s)
	// The only key in the known-hosts file has an algorithm that we would not request first.
	reached(t, s, to)

	to.Access.KnownHosts = filepath.Join(t.TempDir(), "none")
	refused(t, to, "cannot read the known hosts: ")
	to.Access.KnownHosts = file(t, "odd", "this is no such file\n")
	refused(t, to, "cannot read the known hosts: ")
	to.Access.KnownHosts = ""
	refused(t, to, "the machine's host key (", "SHA256:", ") is unknown; ", "/.ssh/known_hosts")

	key, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	_, of, _ := strings.Cut(string(key), " ")
	to.Access.KnownHosts = file(t, "revoked", string(key)+"@revoked * "+of)
	refused(t, to, "is revoked in ")

	to.Access.KnownHosts = s.KnownHosts
	old := file(t, "old", string(key))
	s.RenewHostKey(t)
	reached(t, s, to)
	to.Access.KnownHosts = old
	refused(t, to, "the machine's host key has changed: ", old+" line 1", "ssh-keygen -f "+old+" -R '"+knownhosts.Normalize(s.Address)+"'")
}

// A machine is recognized by a host certificate from a known authority.
func TestAcceptsASignedHostKey(t *testing.T) {
	authority, err := ssh.NewSignerFromSigner(servers.NewSSHKey(t))
	if err != nil {
		t.Fatal(err)
	}
	host := servers.NewSSHKey(t)
	dir := t.TempDir()
	keyFile, certFile := filepath.Join(dir, "host"), filepath.Join(dir, "host-cert.pub")
	servers.WriteSSHKey(t, keyFile, host, "")
	public, err := ssh.NewPublicKey(host.Public())
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: public, CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.72"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, ssh.MarshalAuthorizedKey(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servers.StartSSH(t, "127.0.0.72", "HostKey "+keyFile, "HostCertificate "+certFile)
	to := reachable(t, s)
	to.Access.KnownHosts = file(t, "known", "@cert-authority "+knownhosts.Normalize(s.Address)+" "+string(ssh.MarshalAuthorizedKey(authority.PublicKey())))
	reached(t, s, to)
	other, err := ssh.NewPublicKey(servers.NewSSHKey(t).Public())
	if err != nil {
		t.Fatal(err)
	}
	to.Access.KnownHosts = file(t, "known", "@cert-authority "+knownhosts.Normalize(s.Address)+" "+string(ssh.MarshalAuthorizedKey(other)))
	refused(t, to, "127.0.0.72")
}

// Keys come from files and from an ssh agent.
func TestKeys(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.73")
	to := reachable(t, s)
	home := os.Getenv("HOME")
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	id := filepath.Join(home, ".ssh", "id_ed25519")
	wrong, encrypted := filepath.Join(t.TempDir(), "wrong"), filepath.Join(t.TempDir(), "encrypted")
	servers.WriteSSHKey(t, wrong, servers.NewSSHKey(t), "")
	servers.WriteSSHKey(t, encrypted, s.Key, "secret")

	to.Access.Identity = ""
	refused(t, to, "found no key for the login in an ssh agent (SSH_AUTH_SOCK) or in ~/.ssh")
	servers.WriteSSHKey(t, id, s.Key, "secret")
	refused(t, to, "found no key for the login", id+" is encrypted and not in an ssh agent; add it to your ssh agent with ssh-add")
	servers.WriteSSHKey(t, id, s.Key, "")
	reached(t, s, to)

	to.Access.Identity = wrong
	refused(t, to, "the machine accepts none of the keys ("+wrong+") for ")
	to.Access.Identity = encrypted
	refused(t, to, "the key "+encrypted+" is encrypted and not in an ssh agent; add it to your ssh agent with ssh-add "+encrypted)
	to.Access.Identity = file(t, "odd", "no key")
	refused(t, to, "cannot use the key ")
	to.Access.Identity = filepath.Join(home, "none")
	refused(t, to, "cannot use the key ", "no such file")

	// The ssh agent has the key that is encrypted in the file, and another key.
	serveKeys(t, servers.NewSSHKey(t), s.Key)
	to.Access.Identity = encrypted
	reached(t, s, to)
	to.Access.Identity = ""
	if err := os.Remove(id); err != nil {
		t.Fatal(err)
	}
	reached(t, s, to)
	serveKeys(t, servers.NewSSHKey(t))
	refused(t, to, "the machine accepts none of the keys (the ssh agent's 1 key) for ")
	to.Access.Config = file(t, "config", "IdentityFile "+home+"/none\nIdentitiesOnly yes\n")
	refused(t, to, "found no key for the login in an ssh agent (SSH_AUTH_SOCK) or in the files that IdentityFile names in ssh's configuration ("+home+"/none)")
	to.Access.Config = NoConfig
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(home, "none"))
	refused(t, to, "found no key for the login", "does not respond")
}

// A machine may end the login after a few rejected keys. The error then advises to select the right
// key.
func TestTooManyKeys(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.79", "MaxAuthTries 2")
	to := reachable(t, s)
	serveKeys(t, servers.NewSSHKey(t), servers.NewSSHKey(t), servers.NewSSHKey(t), s.Key)
	identity := to.Access.Identity
	to.Access.Identity = ""
	refused(t, to, "after too many rejected keys, so it may not have tried all 4 keys (the ssh agent's 4 keys); select the right key with --ssh-identity")
	to.Access.Identity = identity
	reached(t, s, to)
}

// A handshake that fails after the host key was accepted is not always a rejection of our keys.
func TestExplainsEndedHandshakes(t *testing.T) {
	k := &keys{known: &knownHostKeys{accepted: true}, signers: make([]ssh.Signer, 1), origins: []string{"id"}}
	for reason, want := range map[string]string{
		"ssh: handshake failed: EOF": "the handshake with db1:22 failed: EOF",
		"ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain": "the machine accepts none of the keys (id) for user me;",
		"ssh: handshake failed: ssh: disconnect, reason 2: Too many authentication failures":                                  "the machine accepts none of the keys (id) for user me;",
	} {
		if err := k.explainRefusal(&Target{Address: "db1:22"}, "me", errors.New(reason)); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: the explanation is %q, want %q", reason, err, want)
		}
	}
}

// serveKeys starts an ssh agent that holds the given keys, and sets SSH_AUTH_SOCK to its socket.
func serveKeys(t *testing.T, keys ...crypto.Signer) {
	t.Helper()
	ring := sshagent.NewKeyring()
	for _, key := range keys {
		if err := ring.Add(sshagent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", at)
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
			go func() {
				_ = sshagent.ServeAgent(ring, c) // until the socket is closed
				_ = c.Close()
			}()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", at)
}

// A copy with a wrong checksum is not started.
func TestRefusesADamagedCopy(t *testing.T) {
	for name, filter := range map[string]string{"changed": "sed -u s/a/b/", "cut": "head -c 30"} {
		t.Run(name, func(t *testing.T) {
			started := filepath.Join(t.TempDir(), "started")
			s := servers.StartSSH(t, "127.0.0.74", "ForceCommand "+file(t, "filter", "#!/bin/sh\n(head -c 3; "+filter+") | sh -c \"$SSH_ORIGINAL_COMMAND\"\n"))
			to := reachable(t, s)
			to.Binary = file(t, "quorumbench", "#!/bin/sh\n: >"+started+"\n"+strings.Repeat("# aaaaaaaaaaaaaaaa\n", 1000))
			refused(t, to, "the copy of quorumbench on the machine is damaged: its SHA-256 is ")
			if _, err := os.Stat(started); err == nil {
				t.Error("the damaged program was started")
			}
			checkGone(t, s)
		})
	}
}

// Machines that behave unexpectedly are rejected.
func TestRefusesUnusableMachines(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	says := func(system string) string { return `echo "quorumbench-system ` + system + `"; read go` }
	for name, c := range map[string]struct{ does, want string }{
		"another system":     {says("Linux mips64 10.0.0.1"), "the machine is linux/mips64, but this quorumbench is for " + runtime.GOOS + "/" + runtime.GOARCH + "; "},
		"no system":          {says("x"), `the machine's shell did not print its system and address, but "x"`},
		"no shell":           {"echo 'This account is not available.' >&2; exit 1", "no agent could be started: This account is not available."},
		"nothing":            {"exit 3", "no agent could be started: the machine's shell exited ("},
		"silence":            {"cat >/dev/null", "the machine's shell did not respond within 5s"},
		"odd folder":         {says("$(uname -sm) 10.0.0.1") + "; echo quorumbench-folder somewhere; cat >/dev/null", "the path of the private folder on the machine is not absolute"},
		"long folder":        {says("$(uname -sm) 10.0.0.1") + "; echo quorumbench-folder /" + strings.Repeat("x", 100) + "/ssh.123456; cat >/dev/null", "is too long for a Unix socket; choose a dir whose path is shorter than 85 bytes"},
		"takes no copy":      {says("$(uname -sm) 10.0.0.1") + "; echo quorumbench-folder /x/ssh.123456; read end <" + end, "the copy of quorumbench made no progress for 5s"},
		"an agent that ends": {`sh -c "$SSH_ORIGINAL_COMMAND"`, "no agent could be started: quorumbench: it cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			s := servers.StartSSH(t, "127.0.0.75", "ForceCommand "+file(t, "does", "#!/bin/sh\n"+c.does+"\n"))
			to := reachable(t, s)
			to.Binary = file(t, "quorumbench", "#!/bin/sh\necho 'quorumbench: it cannot be' >&2\nexit 1\n")
			switch name {
			case "takes no copy":
				if err := syscall.Mkfifo(end, 0o600); err != nil {
					t.Fatal(err)
				}
				defer func() { // the shell on the other side reads from this FIFO
					if f, err := os.OpenFile(end, os.O_WRONLY, 0); err == nil {
						_ = f.Close()
					}
				}()
				to.Binary = file(t, "large", strings.Repeat("x", 16<<20))
				to.StepTimeout = 5 * time.Second // long enough for the steps before the copy
			case "silence":
				to.StepTimeout = 5 * time.Second
			}
			refused(t, to, c.want)
			checkGone(t, s)
		})
	}
}

// If the folder cannot be created, the machine's error is reported.
func TestErrorOfAFolderThatCannotBeCreatedIsReported(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.76")
	to := reachable(t, s)
	to.Dir = "/dev/null/it's"
	refused(t, to, "no agent could be started: mkdir: ", "/dev/null")
	to.Dir = filepath.Join(t.TempDir(), "it's a 'folder'")
	m, err := Reach(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(m.folder, to.Dir+"/ssh.") {
		t.Errorf("the folder is %s", m.folder)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestReportsAServerWithoutForwarding(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.77", "AllowStreamLocalForwarding no")
	m, err := Reach(t.Context(), reachable(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Dial(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "the machine's ssh server does not forward connections to the agent's socket (") {
		t.Errorf("%v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// Reach reports a program that is not an ssh server, and a closed port.
func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := Target{Name: "db1", Address: l.Addr().String(), StepTimeout: 300 * time.Millisecond}
	to.Access = Access{KnownHosts: file(t, "known", ""), Identity: filepath.Join(t.TempDir(), "id")}
	servers.WriteSSHKey(t, to.Access.Identity, servers.NewSSHKey(t), "")
	refused(t, to, to.Address+" did not respond as an ssh server within 300ms")
	to.StepTimeout = time.Minute
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = c.Close()
		}
	}()
	refused(t, to, "the handshake with "+to.Address+" failed: ")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, to, "cannot connect over ssh: ", "refused")
}

// An interrupted copy is removed before Reach returns.
func TestReachIsInterrupted(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.78")
	to := reachable(t, s)
	if err := os.Truncate(to.Binary, 4<<30); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	go func() {
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for range again.C {
			if there, _ := filepath.Glob(filepath.Join(s.Cache, "*", "ssh.*", "quorumbench")); len(there) > 0 || t.Context().Err() != nil {
				cancel(interrupted)
				return
			}
		}
	}()
	if _, err := Reach(ctx, to); !errors.Is(err, interrupted) {
		t.Errorf("%v", err)
	}
	checkGone(t, s)
}
