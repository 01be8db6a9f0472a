package servers

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHServer is an ssh server that starts an sshd process for each connection.
type SSHServer struct {
	Address    string // HOST:PORT of the server
	KnownHosts string // file that contains the server's host keys in the format of known_hosts
	Identity   string // file that contains a private key which the server accepts
	Key        crypto.Signer
	Cache      string // XDG_CACHE_HOME in the server's sessions
	dir        string

	mu       sync.Mutex
	serving  []*exec.Cmd
	sessions sync.WaitGroup
}

// binary is the path of the server in Debian. The server must be started with its full path.
const binary = "/usr/sbin/sshd"

// StartSSH starts an ssh server at an IP address of this machine. The server runs until the end of
// the test. config contains additional lines for sshd_config. If sshd is not installed, StartSSH
// skips the test.
func StartSSH(t testing.TB, ip string, config ...string) *SSHServer {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Skip("there is no sshd: `make sshd` installs Debian's openssh-server")
	}
	if os.Getuid() == 0 { // sshd needs this folder only if it runs as root
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	s := &SSHServer{dir: dir, KnownHosts: filepath.Join(dir, "known_hosts"), Identity: filepath.Join(dir, "id"), Cache: filepath.Join(dir, "cache")}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.Address = l.Addr().String()
	s.Key = NewSSHKey(t)
	WriteSSHKey(t, s.Identity, s.Key, "")
	s.Authorize(t, s.Key)
	s.RenewHostKey(t)
	text := append([]string{ // if a setting occurs twice, its first line takes effect
		"HostKey " + s.file("host_ecdsa"), "HostKey " + s.file("host_ed25519"), "AuthorizedKeysFile " + s.file("authorized_keys"),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes",
		"PidFile none", "PrintMotd no", "SetEnv XDG_CACHE_HOME=" + s.Cache,
	}, config...)
	s.write(t, "config", strings.Join(text, "\n")+"\n")
	go s.accept(l)
	t.Cleanup(func() {
		_ = l.Close()
		s.Kill()
		s.sessions.Wait()
		if log, err := os.ReadFile(s.file("log")); t.Failed() && err == nil {
			t.Logf("the log of sshd:\n%s", log)
		}
	})
	return s
}

func (s *SSHServer) file(name string) string { return filepath.Join(s.dir, name) }

func (s *SSHServer) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Authorize replaces the keys that the server accepts.
func (s *SSHServer) Authorize(t testing.TB, keys ...crypto.Signer) {
	t.Helper()
	lines := ""
	for _, key := range keys {
		lines += string(ssh.MarshalAuthorizedKey(public(t, key)))
	}
	s.write(t, "authorized_keys", lines)
}

// RenewHostKey replaces the server's host keys, as if the machine had been reinstalled. The file
// KnownHosts contains only one of the server's two kinds of keys.
func (s *SSHServer) RenewHostKey(t testing.TB) {
	t.Helper()
	key, other := NewSSHKey(t), ecdsaKey(t)
	WriteSSHKey(t, s.file("host_ed25519"), key, "")
	WriteSSHKey(t, s.file("host_ecdsa"), other, "")
	s.write(t, "known_hosts", knownhosts.Line([]string{knownhosts.Normalize(s.Address)}, public(t, key))+"\n")
}

// Kill kills the sshd processes of all connections. The clients see a network failure.
func (s *SSHServer) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.serving {
		_ = c.Process.Kill() // an error means that the process has already ended
	}
}

func (s *SSHServer) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if err := s.serve(c.(*net.TCPConn)); err != nil {
			fmt.Fprintln(os.Stderr, "sshd:", err)
		}
	}
}

// serve starts an sshd process for a connection, as inetd would.
func (s *SSHServer) serve(c *net.TCPConn) error {
	defer func() { _ = c.Close() }() // the sshd process has its own copy of the connection
	f, err := c.File()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	cmd := exec.Command(binary, "-i", "-f", s.file("config"), "-E", s.file("log"))
	cmd.Stdin, cmd.Stdout = f, f
	// Signals to the test must not reach the sshd process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.serving = append(s.serving, cmd)
	s.sessions.Go(func() { _ = cmd.Wait() }) // the exit status does not matter
	return nil
}

// NewSSHKey creates a key of the kind that ssh-keygen creates by default.
func NewSSHKey(t testing.TB) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecdsaKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// WriteSSHKey writes a key in ssh's format. If the passphrase is not empty, the key is encrypted
// with it.
func WriteSSHKey(t testing.TB, file string, key crypto.Signer, passphrase string) {
	t.Helper()
	marshal := func() (*pem.Block, error) { return ssh.MarshalPrivateKey(key, "") }
	if passphrase != "" {
		marshal = func() (*pem.Block, error) {
			return ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
		}
	}
	block, err := marshal()
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func public(t testing.TB, key crypto.Signer) ssh.PublicKey {
	t.Helper()
	k, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return k
}
