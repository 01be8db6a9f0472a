package overssh

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxFile is the maximum size in bytes of a file with keys or known hosts. It is far more than such
// a file needs.
const maxFile = 16 << 20

// knownHostKeys contains the known host keys.
type knownHostKeys struct {
	check      ssh.HostKeyCallback
	files      []string // known-hosts files that exist
	newKeyFile string   // the file to which a new key is added
	accepted   bool     // set if the machine presented a known key
}

// knownHosts reads the given file, or ssh's default files.
func (a Access) knownHosts() (*knownHostKeys, error) {
	paths := []string{a.KnownHosts}
	if a.KnownHosts == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("cannot find the known hosts: %w", err)
		}
		paths = []string{filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"}
	}
	k := &knownHostKeys{newKeyFile: paths[0]}
	for _, file := range paths {
		switch _, err := files.Read(file, maxFile); {
		case err == nil:
			k.files = append(k.files, file)
		case a.KnownHosts != "" || !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("cannot read the known hosts: %w", err)
		}
	}
	check, err := knownhosts.New(k.files...)
	if err != nil {
		return nil, fmt.Errorf("cannot read the known hosts: %w", err)
	}
	k.check = func(name string, at net.Addr, key ssh.PublicKey) error {
		err := check(name, at, key)
		k.accepted = err == nil
		return err
	}
	return k, nil
}

// algorithms returns the host key algorithms in the order in which we request them. The algorithms
// of the machine's known keys come first: a machine has several keys with different algorithms, and
// presents the key for the first algorithm that we request.
func (k *knownHostKeys) algorithms(address string) ([]string, error) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	placeholder, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	var mismatch *knownhosts.KeyError
	if err := k.check(address, &net.TCPAddr{}, placeholder); !errors.As(err, &mismatch) {
		return nil, err // cannot happen, because this key is new and no machine has it
	}
	kinds, authority := map[string]bool{}, false
	for _, want := range mismatch.Want {
		kinds[want.Key.Type()] = true
		authority = authority || isAuthority(want)
	}
	hasKnownKey := func(algorithm string) bool {
		kind := algorithm
		if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
			kind = ssh.KeyAlgoRSA
		}
		return kinds[kind] || authority && certified(algorithm)
	}
	all := slices.DeleteFunc(ssh.SupportedAlgorithms().HostKeys, func(of string) bool { return certified(of) && !authority })
	slices.SortStableFunc(all, func(a, b string) int { return sortRank(hasKnownKey(a)) - sortRank(hasKnownKey(b)) })
	return all, nil
}

func sortRank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// certified reports whether an algorithm uses certificates.
func certified(algorithm string) bool { return strings.Contains(algorithm, "-cert-") }

// isAuthority reports whether a line in a known-hosts file contains the key of a certificate
// authority.
func isAuthority(k knownhosts.KnownKey) bool {
	text, err := files.Read(k.Filename, maxFile)
	lines := bytes.Split(text, []byte("\n"))
	return err == nil && k.Line >= 1 && k.Line <= len(lines) && bytes.HasPrefix(bytes.TrimSpace(lines[k.Line-1]), []byte("@cert-authority"))
}

// explainRefusal explains why a machine's key was rejected. It returns nil if err has another
// cause.
func (k *knownHostKeys) explainRefusal(address string, presented ssh.PublicKey, err error) error {
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	name := knownhosts.Normalize(address)
	switch {
	case errors.As(err, &mismatch) && len(mismatch.Want) == 0:
		return fmt.Errorf("the machine's host key (%s) is unknown; verify the key, and then connect once with ssh or add the key to %s", fingerprint(presented), k.newKeyFile)
	case errors.As(err, &mismatch):
		at := mismatch.Want[0]
		return fmt.Errorf("the machine's host key has changed: it is %s, but %s line %d contains another key; another machine may be intercepting the connection; if the machine really has a new key, remove the old key with ssh-keygen -f %s -R '%s'",
			fingerprint(presented), at.Filename, at.Line, at.Filename, name)
	case errors.As(err, &revoked):
		return fmt.Errorf("the machine's host key (%s) is revoked in %s line %d and must not be used", fingerprint(presented), revoked.Revoked.Filename, revoked.Revoked.Line)
	}
	return nil
}

func fingerprint(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }
