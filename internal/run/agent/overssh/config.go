package overssh

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/text"
)

// sshPort is where ssh servers listen.
const sshPort = "22"

// identities are the files of the keys that a machine's entry names.
type identities struct {
	files []string // empty: ssh's usual ones
	only  bool     // no other key of the ssh agent is shown
}

// entry is what ssh's configuration says of a machine; the zero value is none.
type entry struct {
	file  string
	of    string // the machine, as it was written
	parts *ssh_config.Config
}

// entryOf reads the file, which need not be there unless it was named.
func (a Access) entryOf(machine string) (e entry, err error) {
	e = entry{file: a.Config, of: machine}
	switch a.Config {
	case NoConfig:
		return entry{}, nil
	case "":
		home, err := os.UserHomeDir()
		if err != nil {
			return entry{}, nil // and there is none
		}
		e.file = filepath.Join(home, ".ssh", "config")
	}
	text, err := files.Read(e.file, maxFile)
	if a.Config == "" && errors.Is(err, fs.ErrNotExist) {
		return entry{}, nil
	}
	if err == nil {
		e.parts, err = decode(text)
	}
	if err != nil {
		return e, fmt.Errorf("ssh's configuration cannot be used: %w; give another with --ssh-config, or none", err)
	}
	return e, nil
}

// decode reads a file and those that it includes.
func decode(words []byte) (c *ssh_config.Config, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on what it did not expect
			err = errors.New("it is not understood")
		}
	}()
	c, err = ssh_config.DecodeBytes(words)
	if err != nil {
		return nil, errors.New(text.Line(strings.TrimPrefix(err.Error(), "ssh_config: "), text.OfServer))
	}
	return c, nil
}

// get is the first value of a key; empty without one.
func (e entry) get(key string) string {
	if e.parts == nil {
		return ""
	}
	value, _ := e.parts.Get(e.of, key) // of what was decoded there is no error
	return value
}

// whole replaces the tokens of a value (ssh_config(5)).
func (e entry) whole(key, value string, tokens map[byte]string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			out.WriteByte(value[i])
			continue
		}
		i++
		token, known := "%", i < len(value) && value[i] == '%'
		if !known && i < len(value) {
			token, known = tokens[value[i]]
		}
		if !known {
			return "", fmt.Errorf("%s of %s in %s has a token that is not done here: %s", key, e.of, e.file, text.Line(value, 200))
		}
		out.WriteString(token)
	}
	return out.String(), nil
}

// configure has the target be what ssh's configuration says of it, as far as it does
// not say that itself: an address, a user, a port, files of keys.
func (t *Target) configure() (keys identities, err error) {
	host, port, err := net.SplitHostPort(t.Address)
	if err != nil {
		host, port = t.Address, ""
	}
	e, err := t.Access.entryOf(host)
	if err != nil {
		return keys, err
	}
	for _, key := range []string{"ProxyJump", "ProxyCommand"} {
		if way := e.get(key); way != "" && !strings.EqualFold(way, "none") {
			return keys, fmt.Errorf("%s has a %s for %s, and machines are reached directly alone: make it reachable, or start an agent there (via: agent)", e.file, key, host)
		}
	}
	name, err := e.whole("HostName", cmp.Or(e.get("HostName"), "%h"), map[byte]string{'h': host})
	if err != nil {
		return keys, err
	}
	if port == "" {
		port = cmp.Or(e.get("Port"), sshPort)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return keys, fmt.Errorf("the Port of %s in %s is %q, which is none", host, e.file, text.Line(port, 100))
	}
	t.User, t.Address = cmp.Or(t.User, e.get("User")), net.JoinHostPort(name, port)
	return e.identities(name, t.User)
}

// identities are the files of the entry's keys. Those of one that is not there are no
// error, as for ssh.
func (e entry) identities(name, user string) (keys identities, err error) {
	if e.parts == nil {
		return keys, nil
	}
	keys.only = strings.EqualFold(e.get("IdentitiesOnly"), "yes")
	home, _ := os.UserHomeDir() // without one there are no files in it
	all, _ := e.parts.GetAll(e.of, "IdentityFile")
	for _, file := range all {
		if strings.EqualFold(file, "none") {
			continue
		}
		file, err = e.whole("IdentityFile", file, map[byte]string{'d': home, 'h': name, 'r': user, 'n': e.of})
		if err != nil {
			return keys, err
		}
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(home, rest)
		}
		keys.files = append(keys.files, file)
	}
	return keys, nil
}
