package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

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
	return install.Version(st, c.Version)
}

// FindServers looks for all that the clusters' servers need before the first is
// started, so that a long run does not end in its middle for want of one: their
// files, and the programs that run them, such as Java. The error says which is
// missing. Nothing is started.
func FindServers(o *Options) error {
	self := o.Self
	if self == "" { // a dry run starts nothing
		var err error
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
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
		server, err := Server(st, c)
		if err != nil {
			return err
		}
		if err := startable(st, c, server, self); err != nil {
			return err
		}
	}
	return nil
}

// startable asks the store what it would start for a cluster, at places that
// are made up, and looks whether that can be run.
func startable(st store.Store, c *scenario.Cluster, server, self string) error {
	if server != "" { // as the cluster's start takes it
		var err error
		if server, err = filepath.Abs(server); err != nil {
			return err
		}
	}
	spec := store.LaunchSpec{Cluster: "cluster", Exec: server, Self: self, Settings: c.Settings}
	for i := range max(c.Members, 1) {
		place := store.MemberPlace{Name: fmt.Sprintf("m%d", i+1), Host: "127.0.0.1"}
		place.Dir = filepath.Join(os.TempDir(), "quorumbench-nowhere", place.Name)
		for k := range store.PortsPerMember {
			place.Ports = append(place.Ports, 1+i*store.PortsPerMember+k)
		}
		spec.Members = append(spec.Members, place)
	}
	launch, err := st.Launch(spec)
	if err != nil {
		return err
	}
	for _, p := range launch.Processes {
		for _, part := range append(slices.Clone(p.Behind), p) {
			if _, err := exec.LookPath(part.Path); err != nil {
				return fmt.Errorf("a member of %s cannot be started: %w", c.Named(), err)
			}
		}
	}
	return nil
}
