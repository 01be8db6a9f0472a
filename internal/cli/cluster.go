package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// statusTimeout is how long `cluster status` waits for the members to report their state.
const statusTimeout = 5 * time.Second

// clusterFlags holds the flags of the `cluster` commands.
type clusterFlags struct {
	store   string // NAME or NAME@VERSION; clusterUp moves the version to the next field
	version string // version of an installed server; only for `up`
	dir     string
	exec    string
	members int
}

func (a *commandLine) clusterCommand() *cobra.Command {
	g := command.Group("cluster", "Start, inspect and stop a local cluster", "up, status or down",
		a.newClusterCommand("up", "Start a cluster that keeps running after this command", "up --store zookeeper --members 3", a.clusterUp),
		a.newClusterCommand("status", "Show the members and the leader", "status --store zookeeper", a.clusterStatus),
		a.newClusterCommand("down", "Stop the cluster and remove its data", "down --store zookeeper", a.clusterDown))
	g.Example = `  quorumbench cluster up
  quorumbench cluster down`
	return g
}

func (a *commandLine) newClusterCommand(name, short, example string, do func(context.Context, *clusterFlags) error) *cobra.Command {
	f := &clusterFlags{store: "etcd", members: scenario.DefaultMembers}
	c := &cobra.Command{Use: name, Short: short, Example: "  quorumbench cluster " + example, Args: command.ArgsBetween(0, 0, "")}
	r := command.NewFlags(c.Flags())
	kind := "NAME"
	if name == "up" {
		kind = "NAME[@VERSION]"
	}
	r.Text("store", &f.store, kind, "kind of store")
	r.Text("dir", &f.dir, "DIR", "folder of the cluster (default: a folder per store in the user's cache folder)")
	if name == "up" {
		r.Int("members", &f.members, "number of members to start")
		r.Text("exec", &f.exec, "PATH", "path of the server binary to start instead of the store's default server")
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return do(c.Context(), f) }
	return c
}

// resolve returns the store that the flags name, and sets the default folder.
func (a *commandLine) resolve(f *clusterFlags) (store.Store, error) {
	if name, _, versioned := strings.Cut(f.store, "@"); versioned {
		return nil, command.Usage("--store %s: the name of the store is enough to find a cluster; omit the version: --store %s", f.store, name)
	}
	st, err := a.Lookup(f.store)
	if err != nil {
		return nil, command.Usage("--store: %w", err)
	}
	if f.dir == "" {
		f.dir, err = cluster.DefaultDir(st.Name())
	}
	return st, err
}

func (a *commandLine) clusterUp(ctx context.Context, f *clusterFlags) error {
	if f.members < 1 || f.members > kv.MaxMembers {
		return command.Usage("--members must be from 1 to %d, not %d", kv.MaxMembers, f.members)
	}
	var err error
	if f.store, f.version, err = storeVersion(f.store, f.exec); err != nil {
		return err
	}
	st, err := a.resolve(f)
	if err != nil {
		return err
	}
	if f.version != "" {
		if err := a.Catalog.Version(f.store, f.version); err != nil {
			return command.Usage("--store %s@%s: %w", f.store, f.version, err)
		}
	}
	server, err := runner.Server(st, &scenario.Cluster{Store: f.store, Version: f.version, Exec: f.exec})
	if err != nil {
		return err
	}
	path, err := command.Self()
	if err != nil {
		return err
	}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	spec := cluster.Spec{Members: f.members, Exec: server, Self: path, Dir: f.dir}
	p, status, err := cluster.Up(ctx, host.NewLocal(nil, nil), st, spec, time.Now())
	if err != nil && ctx.Err() != nil {
		cause := errors.New("interrupted; no member is left running")
		if left := (*cluster.UndoError)(nil); errors.As(err, &left) {
			cause = fmt.Errorf("interrupted; %w", left.RemovalErr)
		}
		return &command.Exit{Code: command.ExitInterrupted, Cause: cause}
	}
	if err != nil {
		return err
	}
	a.Printf("%s\n", strings.Join(p.Endpoints(), ","))
	a.members(p, status)
	a.Printf("\nTry:  quorumbench bench put --store %s --endpoints %s --total 10000\nStop: quorumbench cluster down%s\n",
		p.Store, strings.Join(p.Endpoints(), ","), f.selectionFlags())
	return nil
}

// selectionFlags returns the flags that select the same cluster in another `cluster` command.
func (f *clusterFlags) selectionFlags() string {
	if dir, err := cluster.DefaultDir(f.store); err == nil && dir == f.dir {
		return " --store " + f.store
	}
	return " --dir " + text.ShellQuote(f.dir)
}

func (a *commandLine) clusterStatus(ctx context.Context, f *clusterFlags) error {
	if _, err := a.resolve(f); err != nil {
		return err
	}
	p, err := cluster.Load(f.dir)
	if err != nil {
		return err
	}
	st, err := a.Lookup(p.Store)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, err := p.Status(ctx, st)
	a.Printf("%s\n", strings.Join(p.Endpoints(), ","))
	a.members(p, status)
	if err != nil {
		return err
	}
	if status.Leader() == nil {
		return errors.New("the cluster has no leader")
	}
	return nil
}

// members prints a line for each member.
func (a *commandLine) members(p *cluster.Playground, status store.Status) {
	known := map[string]store.Member{}
	for _, m := range status.Members {
		known[m.Endpoint] = m
	}
	rows := [][]string{{"member", "endpoint", "role", "version", "process", "log"}}
	elsewhere := p.CheckHere() != nil
	for i := range p.Members {
		m := &p.Members[i]
		process := "not running"
		switch {
		case elsewhere:
			process = "not visible here"
		case m.Running():
			process = fmt.Sprint(m.Process.PID)
		}
		role, version := "-", "-"
		if s, ok := known[m.Endpoint]; ok && s.Err == nil {
			role, version = s.Role.String(), s.Version
		}
		rows = append(rows, []string{m.Name, m.Endpoint, role, version, process, m.LogFile})
	}
	a.Printf("\n")
	_ = text.Table(a.Stdout, rows) // a.Stdout keeps its first error
}

func (a *commandLine) clusterDown(ctx context.Context, f *clusterFlags) error {
	if _, err := a.resolve(f); err != nil {
		return err
	}
	stopped, err := cluster.Down(ctx, f.dir)
	switch {
	case err != nil:
		return err
	case !stopped.Existed:
		a.Printf("there is no cluster in %s\n", f.dir)
		return nil
	}
	a.Printf("%s\n", describeDown(&stopped, f.dir))
	return nil
}

// describeDown returns a sentence about a cluster whose data in the folder dir was removed.
func describeDown(s *cluster.Stopped, dir string) string {
	stopped, exited := uint64(len(s.StoppedMembers)), uint64(len(s.ExitedMembers))
	switch {
	case stopped == 0 && exited == 0:
		return fmt.Sprintf("removed the data in %s; %s had no members", dir, s.Store)
	case stopped == 0:
		return fmt.Sprintf("removed the data in %s; %s of %s had already ended", dir, text.Plural(exited, "member"), s.Store)
	case exited == 0:
		return fmt.Sprintf("stopped %s of %s and removed the data in %s", text.Plural(stopped, "member"), s.Store, dir)
	}
	return fmt.Sprintf("stopped %s of %s (%d more had already ended) and removed the data in %s", text.Plural(stopped, "member"), s.Store, exited, dir)
}
