package overssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/text"
)

// keys contains the keys that we offer to a machine, and the host key that the machine presented.
type keys struct {
	known     *knownHostKeys
	presented ssh.PublicKey // the machine's host key
	socket    net.Conn      // connection to the ssh agent; may be nil
	signers   []ssh.Signer
	origins   []string // origins of the signers, for errors
	unused    []string // sentences about keys that exist but are not offered
}

// config returns the settings for a connection.
func (a Access) config(t *Target) (*ssh.ClientConfig, *keys, error) {
	identities, err := t.configure()
	if err != nil {
		return nil, nil, err
	}
	user, err := t.loginName()
	if err != nil {
		return nil, nil, err
	}
	k := &keys{}
	if k.known, err = a.knownHosts(); err != nil {
		return nil, nil, err
	}
	algorithms, err := k.known.algorithms(t.Address)
	if err != nil {
		return nil, nil, err
	}
	agentKeys := k.readAgentKeys(t.StepTimeout)
	if a.Identity != "" {
		err = k.offerOnly(a.Identity, agentKeys)
	} else {
		err = k.offerAll(agentKeys, identities)
	}
	if err != nil {
		k.close()
		return nil, nil, err
	}
	return &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(k.signers...)}, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(name string, at net.Addr, key ssh.PublicKey) error {
			k.presented = key
			return k.known.check(name, at, key)
		},
	}, k, nil
}

// readAgentKeys returns the keys in the ssh agent.
func (k *keys) readAgentKeys(within time.Duration) []ssh.Signer {
	socketPath := os.Getenv("SSH_AUTH_SOCK")
	if socketPath == "" {
		return nil
	}
	socket, err := net.DialTimeout("unix", socketPath, within)
	if err == nil {
		k.socket = socket
		err = socket.SetDeadline(time.Now().Add(2 * within)) // the agent signs during the handshake
	}
	var held []ssh.Signer
	if err == nil {
		held, err = agent.NewClient(socket).Signers()
	}
	if err != nil {
		k.unused = append(k.unused, fmt.Sprintf("the ssh agent at %s does not respond (%v)", socketPath, err))
	}
	return held
}

// offerOnly offers only the key in the given file, which may also be in the ssh agent.
func (k *keys) offerOnly(file string, agentKeys []ssh.Signer) error {
	signer, err := findSigner(file, agentKeys)
	switch {
	case errors.Is(err, errEncrypted):
		return fmt.Errorf("the key %s is encrypted and not in an ssh agent; add it to your ssh agent with ssh-add %s", file, file)
	case err != nil:
		return fmt.Errorf("cannot use the key %s: %w", file, err)
	}
	k.signers, k.origins = []ssh.Signer{signer}, []string{file}
	return nil
}

// defaultKeyFiles contains the default names of ssh's key files.
var defaultKeyFiles = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// offerAll offers the keys in the ssh agent and the keys in readable files.
func (k *keys) offerAll(agentKeys []ssh.Signer, configured identities) error {
	if len(agentKeys) > 0 && !configured.exclusive {
		k.signers, k.origins = agentKeys, []string{"the ssh agent's " + text.Plural(uint64(len(agentKeys)), "key")}
	}
	files, places := configured.files, "the files that IdentityFile names in ssh's configuration ("+strings.Join(configured.files, ", ")+")"
	if len(files) == 0 {
		places = "~/.ssh"
		home, _ := os.UserHomeDir() // without a home folder, no files are found
		for _, name := range defaultKeyFiles {
			files = append(files, filepath.Join(home, ".ssh", name))
		}
	}
	for _, file := range files {
		signer, err := findSigner(file, agentKeys)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errEncrypted):
			k.unused = append(k.unused, fmt.Sprintf("%s is encrypted and not in an ssh agent; add it to your ssh agent with ssh-add", file))
		case err != nil:
			k.unused = append(k.unused, fmt.Sprintf("cannot use %s: %v", file, err))
		case !slices.Contains(k.signers, signer):
			k.signers, k.origins = append(k.signers, signer), append(k.origins, file)
		}
	}
	if len(k.signers) == 0 {
		return fmt.Errorf("found no key for the login in an ssh agent (SSH_AUTH_SOCK) or in %s%s", places, k.notes())
	}
	return nil
}

var errEncrypted = errors.New("the key is encrypted")

// findSigner returns the key in a file, or the same key from the ssh agent.
func findSigner(file string, agentKeys []ssh.Signer) (ssh.Signer, error) {
	text, err := files.Read(file, maxFile)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	var encrypted *ssh.PassphraseMissingError
	var public ssh.PublicKey
	switch {
	case err == nil:
		public = signer.PublicKey()
	case !errors.As(err, &encrypted):
		return nil, errors.New(strings.TrimPrefix(err.Error(), "ssh: "))
	case encrypted.PublicKey != nil:
		public = encrypted.PublicKey
	default: // older formats store the public key in a separate file
		if text, err := files.Read(file+".pub", maxFile); err == nil {
			public, _, _, _, _ = ssh.ParseAuthorizedKey(text) // nil if the file contains no key
		}
	}
	if i := slices.IndexFunc(agentKeys, func(s ssh.Signer) bool {
		return public != nil && bytes.Equal(s.PublicKey().Marshal(), public.Marshal())
	}); i >= 0 {
		return agentKeys[i], nil
	}
	if encrypted != nil {
		return nil, errEncrypted
	}
	return signer, nil
}

// explainRefusal explains why a handshake failed.
func (k *keys) explainRefusal(t *Target, user string, err error) error {
	if why := k.known.explainRefusal(t.Address, k.presented, err); why != nil {
		return why
	}
	origins := strings.Join(k.origins, ", ")
	switch reason := strings.ToLower(err.Error()); {
	case strings.Contains(reason, "too many authentication failures") && len(k.signers) > 1:
		return fmt.Errorf("the machine ended the login of user %s after too many rejected keys, so it may not have tried all %d keys (%s); select the right key with --ssh-identity%s",
			user, len(k.signers), origins, k.notes())
	case k.known.accepted && (strings.Contains(reason, "unable to authenticate") || strings.Contains(reason, "too many authentication failures")):
		return fmt.Errorf("the machine accepts none of the keys (%[2]s) for user %[1]s; add one of them to ~/.ssh/authorized_keys on the machine, or choose another user or key%[3]s",
			user, origins, k.notes())
	}
	return fmt.Errorf("the handshake with %s failed: %s", t.Address, text.Line(strings.TrimPrefix(err.Error(), "ssh: handshake failed: "), text.MaxServerText))
}

func (k *keys) notes() string {
	if len(k.unused) == 0 {
		return ""
	}
	return "; " + strings.Join(k.unused, "; ")
}

func (k *keys) close() {
	if k.socket != nil {
		_ = k.socket.Close() // the connection is no longer needed
	}
}
