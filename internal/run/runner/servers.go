package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Server returns the path of the server binary for a cluster. This is the user's binary (Exec), the
// installed server of the cluster's Version, or "" for the store's default. Server returns an error
// if the binary is missing.
func Server(st store.Store, c *scenario.Cluster) (string, error) {
	if c.Exec != "" {
		if _, err := os.Stat(c.Exec); err != nil {
			return "", fmt.Errorf("the server of %s does not exist: %w", c.FullName(), err)
		}
		return c.Exec, nil
	}
	return install.Version(st, c.Version)
}

// FindServers checks that this machine has everything that the clusters' servers need, such as
// their files and Java. A long run therefore does not fail halfway because something is missing.
// The error names the missing server. FindServers does not start any server.
func FindServers(o *Options) error {
	self := o.Self
	if self == "" { // a dry run does not set Self
		var err error
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	err := eachCluster(o, func(t *scenario.Trial, st store.Store) error {
		if o.startsNoMembers(t) {
			return nil
		}
		server, err := Server(st, &t.Cluster)
		if err != nil {
			return err
		}
		return checkPrograms(st, &t.Cluster, server, self)
	})
	if err != nil {
		return err
	}
	return findUpgrades(o, self)
}

// server returns the server with which a trial's members are restarted in a rolling upgrade.
func (o *Options) server(t *scenario.Trial, version string) (s cluster.Server, err error) {
	if s.Version, s.Exec = fault.ParseServer(version); o.startsNoMembers(t) {
		return s, nil // each host finds its own server
	}
	st, err := o.Lookup(t.Cluster.Store)
	if err != nil {
		return s, err
	}
	upgraded := t.Cluster
	upgraded.Version, upgraded.Exec = s.Version, s.Exec
	if s.Exec, err = Server(st, &upgraded); err == nil && s.Exec != "" {
		s.Exec, err = filepath.Abs(s.Exec)
	}
	return s, err
}

// findUpgrades checks that the new server of each rolling upgrade exists.
func findUpgrades(o *Options, self string) error {
	for i := range o.Scenario.Trials {
		t := &o.Scenario.Trials[i]
		for _, f := range t.Load.Faults {
			if f.Server == "" || o.startsNoMembers(t) {
				continue
			}
			s, err := o.server(t, f.Server)
			if err != nil {
				return err
			}
			st, err := o.Lookup(t.Cluster.Store)
			if err != nil {
				return err
			}
			upgraded := t.Cluster
			upgraded.Version, upgraded.Exec = s.Version, s.Exec
			if err := checkPrograms(st, &upgraded, s.Exec, self); err != nil {
				return err
			}
		}
	}
	return nil
}

// startsNoMembers reports whether this process starts none of a trial's members, because all of
// them are placed on other hosts.
func (o *Options) startsNoMembers(t *scenario.Trial) bool {
	on := o.Scenario.MemberHosts(t)
	on = on[:min(len(on), t.Cluster.Members)] // members are placed on hosts in turn
	return len(on) > 0 && !slices.ContainsFunc(o.Scenario.Hosts, func(h scenario.Host) bool {
		return h.Transport == scenario.TransportLocal && slices.Contains(on, h.Name)
	})
}

// eachCluster calls the function do once for each cluster that the run starts, with the first trial
// that uses the cluster.
func eachCluster(o *Options, do func(*scenario.Trial, store.Store) error) error {
	seen := map[string]bool{}
	for i := range o.Scenario.Trials {
		t := &o.Scenario.Trials[i]
		if t.Cluster.RunningCluster != nil || seen[t.Cluster.Key] {
			continue
		}
		seen[t.Cluster.Key] = true
		st, err := o.Lookup(t.Cluster.Store)
		if err == nil {
			err = do(t, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHosts checks that the hosts of the members support the faults in the scenario. If a host
// builds its own commands, checkHosts also asks that host whether it can start the servers, because
// each host has its own servers. The error names the host.
func (r *run) checkHosts(ctx context.Context) error {
	err := eachCluster(&r.Options, func(t *scenario.Trial, _ store.Store) error {
		c := &t.Cluster
		on := r.membersOn(t)
		for _, h := range on[:min(len(on), c.Members)] {
			if err := checkNetworkSupport(ctx, c, h); err != nil {
				return err
			}
		}
		return r.checkLaunch(ctx, t, cluster.Server{Version: c.Version, Exec: c.Exec})
	})
	if err != nil {
		return err
	}
	for i := range r.Scenario.Trials {
		t := &r.Scenario.Trials[i]
		for _, f := range t.Load.Faults {
			if f.Server == "" {
				continue
			}
			version, exec := fault.ParseServer(f.Server)
			if err := r.checkLaunch(ctx, t, cluster.Server{Version: version, Exec: exec}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLaunch asks the hosts of a trial's members whether they can start the server s.
func (r *run) checkLaunch(ctx context.Context, t *scenario.Trial, s cluster.Server) error {
	c := &t.Cluster
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return err
	}
	hostLaunch := host.Launch{Store: c.Store, Version: s.Version, Exec: s.Exec, Cluster: placeholderName, Members: placeholderMembers(c), Settings: settings}
	on := r.membersOn(t)
	for _, h := range on[:min(len(on), c.Members)] {
		if l, ok := h.(host.Remote); ok {
			if err := l.CheckLaunch(ctx, hostLaunch); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNetworkSupport returns an error if a cluster needs separate networks for its members but the
// host does not support this.
func checkNetworkSupport(ctx context.Context, c *scenario.Cluster, h host.Host) error {
	if !c.FaultNetwork {
		return nil
	}
	n, ok := h.(host.NetworkProvider)
	if !ok {
		return errors.New("network faults require that the members run on the same machine as quorumbench")
	}
	return n.CheckNetworkSupport(ctx)
}

// checkPrograms checks that the programs exist that the store runs for a cluster's members. To find
// these programs, it asks the store for the members' commands, with placeholder addresses.
func checkPrograms(st store.Store, c *scenario.Cluster, server, self string) error {
	if server != "" { // the path is also made absolute when the cluster is started
		var err error
		if server, err = filepath.Abs(server); err != nil {
			return err
		}
	}
	spec := store.LaunchSpec{Cluster: placeholderName, Members: placeholderMembers(c), Exec: server, Self: self, Settings: c.Settings}
	launch, err := st.Launch(spec)
	if err != nil {
		return err
	}
	for _, p := range launch.Processes {
		for _, part := range append(slices.Clone(p.Backends), p) {
			if _, err := exec.LookPath(part.Path); err != nil {
				return fmt.Errorf("cannot start a member of %s: %w", c.FullName(), err)
			}
		}
	}
	return nil
}

// placeholderName is the name of a cluster that is never started.
const placeholderName = "quorumbench-nowhere"

// placeholderMembers returns placeholder addresses for a cluster's members.
func placeholderMembers(c *scenario.Cluster) (members []kv.MemberPlace) {
	for i := range max(c.Members, 1) {
		place := kv.MemberPlace{Name: fmt.Sprintf("m%d", i+1), Host: "127.0.0.1"}
		place.Dir = filepath.Join(os.TempDir(), placeholderName, place.Name)
		for k := range store.PortsPerMember {
			place.Ports = append(place.Ports, 1+i*store.PortsPerMember+k)
		}
		members = append(members, place)
	}
	return members
}
