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

// sshPort is the default port of ssh servers.
const sshPort = "22"

// identities contains the key files in a machine's entry.
type identities struct {
	files     []string // if empty, ssh's default files are used
	exclusive bool     // whether to offer no other keys from the ssh agent
}

// entry is a machine's entry in ssh's configuration. The zero value is an empty entry.
type entry struct {
	file    string
	machine string // the machine's name as the user wrote it
	parts   *ssh_config.Config
}

// entryOf reads the configuration file. The file may be missing unless the user specified it.
func (a Access) entryOf(machine string) (e entry, err error) {
	e = entry{file: a.Config, machine: machine}
	switch a.Config {
	case NoConfig:
		return entry{}, nil
	case "":
		home, err := os.UserHomeDir()
		if err != nil {
			return entry{}, nil // without a home folder there is no configuration
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
		return e, fmt.Errorf("cannot use ssh's configuration: %w; specify another file with --ssh-config, or use --ssh-config none", err)
	}
	return e, nil
}

// decode parses a configuration file and the files that it includes.
func decode(words []byte) (c *ssh_config.Config, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some unexpected input
			err = errors.New("the file cannot be parsed")
		}
	}()
	c, err = ssh_config.DecodeBytes(words)
	if err != nil {
		return nil, errors.New(text.Line(strings.TrimPrefix(err.Error(), "ssh_config: "), text.MaxServerText))
	}
	return c, nil
}

// get returns the first value for a key, or an empty string.
func (e entry) get(key string) string {
	if e.parts == nil {
		return ""
	}
	value, _ := e.parts.Get(e.machine, key) // errors have already been reported by decode
	return value
}

// expandTokens replaces the tokens in a value, such as %h (see ssh_config(5)).
func (e entry) expandTokens(key, value string, tokens map[byte]string) (string, error) {
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
			return "", fmt.Errorf("the %s for %s in %s contains an unsupported token: %s", key, e.machine, e.file, text.Line(value, 200))
		}
		out.WriteString(token)
	}
	return out.String(), nil
}

// configure completes the target with the values in ssh's configuration: address, user, port and
// key files. Values that the target already has take precedence.
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
			return keys, fmt.Errorf("%s contains a %s for %s, but only direct ssh connections are supported; make the machine directly reachable, or start an agent on it (via: agent)", e.file, key, host)
		}
	}
	name, err := e.expandTokens("HostName", cmp.Or(e.get("HostName"), "%h"), map[byte]string{'h': host})
	if err != nil {
		return keys, err
	}
	if port == "" {
		port = cmp.Or(e.get("Port"), sshPort)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return keys, fmt.Errorf("the Port for %s in %s is %q, which is not a valid port", host, e.file, text.Line(port, 100))
	}
	t.User, t.Address = cmp.Or(t.User, e.get("User")), net.JoinHostPort(name, port)
	return e.identities(name, t.User)
}

// identities returns the key files in the entry. As with ssh, a missing file is not an error.
func (e entry) identities(name, user string) (keys identities, err error) {
	if e.parts == nil {
		return keys, nil
	}
	keys.exclusive = strings.EqualFold(e.get("IdentitiesOnly"), "yes")
	home, _ := os.UserHomeDir() // an empty path if the user has no home folder
	all, _ := e.parts.GetAll(e.machine, "IdentityFile")
	for _, file := range all {
		if strings.EqualFold(file, "none") {
			continue
		}
		file, err = e.expandTokens("IdentityFile", file, map[byte]string{'d': home, 'h': name, 'r': user, 'n': e.machine})
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
