package runner

import (
	"fmt"
	"os"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Server is the path of the server that a cluster is to be started from, if it
// says one: a binary of the user's (Exec), or the installed server of a
// Version. Empty is the store's own choice. The error says which server is not
// there.
func Server(st store.Store, c *scenario.Cluster) (string, error) {
	if c.Exec != "" {
		if _, err := os.Stat(c.Exec); err != nil {
			return "", fmt.Errorf("the server of %s is not there: %w", c.Named(), err)
		}
		return c.Exec, nil
	}
	if c.Version == "" {
		return "", nil
	}
	source, err := store.ServerOf(st, c.Version)
	if err != nil || source == nil {
		return "", err
	}
	return installed(*source)
}

func installed(source store.ServerSource) (string, error) {
	source.Tools = nil // Launch asks for those that running takes
	return install.Executable("", source)
}

// FindServers looks for every server's files before the first is started, so
// that a long run does not end in its middle for want of one. The error says
// which is missing. Nothing is started; what else a server needs to run, such as
// Java, its start asks for.
func FindServers(o *Options) error {
	seen := map[string]bool{}
	for i := range o.Scenario.Trials {
		c := &o.Scenario.Trials[i].Cluster
		if c.Attach != nil || seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		st, err := o.Lookup(c.Store)
		if err != nil {
			return err
		}
		if _, err := Server(st, c); err != nil {
			return err
		}
		i, ok := st.(store.Installable)
		if c.Exec != "" || c.Version != "" || !ok {
			continue
		}
		source, err := i.Server("")
		if err == nil {
			_, err = installed(source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
