package overssh

import (
	"fmt"
	"os/user"
	"time"
)

// NoConfig is Access.Config for no file, as ssh -F has it.
const NoConfig = "none"

// Access says by what we know other machines, and they us. The zero value is what
// ssh has by itself; of its configuration it has what a machine's address, user, port
// and keys are.
type Access struct {
	KnownHosts string // instead of ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	Identity   string // the file of the only key that is shown; else those of the ssh agent at SSH_AUTH_SOCK, and of ~/.ssh
	Config     string // instead of ~/.ssh/config; NoConfig for no file
}

// Target is a machine to be reached.
type Target struct {
	Name    string // as errors call it
	User    string // empty: as we are called here
	Address string // HOST:PORT of its ssh server, or HOST: the port is then ssh's
	Dir     string // absolute; see Machine
	Binary  string // the path of our own
	Access  Access
	Within  time.Duration // a bound for each step, and for a copy that stands still; zero: 20 s
	// Copying is called when our binary, of so many bytes, begins to be copied; nil for
	// nobody.
	Copying func(bytes int64)
}

// login is the user that we are there.
func (t *Target) login() (string, error) {
	if t.User != "" {
		return t.User, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("the user's name is not known: write USER@HOST: %w", err)
	}
	return u.Username, nil
}
