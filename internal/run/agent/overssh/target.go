package overssh

import (
	"fmt"
	"os/user"
	"time"
)

// NoConfig is a value of Access.Config. It means that no configuration file is used, as with ssh -F
// none.
const NoConfig = "none"

// Access configures how we recognize other machines and log in to them. The zero value uses ssh's
// default files, and the address, user, port and keys in ssh's configuration for the machine.
type Access struct {
	KnownHosts string // replaces ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	Identity   string // path of the only key to offer; if empty, the keys in the ssh agent at SSH_AUTH_SOCK and in ~/.ssh are offered
	Config     string // replaces ~/.ssh/config; NoConfig if no file is used
}

// Target is a machine to connect to.
type Target struct {
	Name        string // used in errors
	User        string // if empty, our local user name
	Address     string // HOST:PORT of the machine's ssh server, or HOST for port 22
	Dir         string // absolute; see Machine
	Binary      string // path of our binary
	Access      Access
	StepTimeout time.Duration // limits each step, and each pause in the copy of our binary; zero means 20 s
	// OnCopy is called with the size of our binary when the copy begins. It may be nil.
	OnCopy func(bytes int64)
}

// loginName returns the user name on the machine.
func (t *Target) loginName() (string, error) {
	if t.User != "" {
		return t.User, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("the local user name is unknown; specify USER@HOST: %w", err)
	}
	return u.Username, nil
}
