package overssh

import (
	"fmt"
	"os/user"
	"time"
)

// NoConfig as Access.Config means no configuration file, as with ssh -F none.
const NoConfig = "none"

// Access configures how we recognize other machines and log in to them. The zero value uses
// ssh's defaults and, from its configuration, a machine's address, user, port and keys.
type Access struct {
	KnownHosts string // replaces ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	Identity   string // the file of the only key to offer; empty: those of the ssh agent at SSH_AUTH_SOCK and of ~/.ssh
	Config     string // replaces ~/.ssh/config; NoConfig for no file
}

// Target is a machine to connect to.
type Target struct {
	Name    string // used in errors
	User    string // empty: our user name here
	Address string // HOST:PORT of its ssh server, or HOST for ssh's port
	Dir     string // absolute; see Machine
	Binary  string // the path of our binary
	Access  Access
	Within  time.Duration // bounds each step, and a copy without progress; zero: 20 s
	// Copying is called with the size of our binary when the copy begins; may be nil.
	Copying func(bytes int64)
}

// login returns the user name on the machine.
func (t *Target) login() (string, error) {
	if t.User != "" {
		return t.User, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("the user's name is unknown; write USER@HOST: %w", err)
	}
	return u.Username, nil
}
