package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// AwaitEnd waits until all processes of the member have exited.
func (c *Cluster) AwaitEnd(ctx context.Context, name string) error {
	m, _, err := c.find(name)
	if err != nil {
		return err
	}
	for _, p := range m.startedProcesses() {
		select {
		case <-p.Exited():
		case <-ctx.Done():
			return fmt.Errorf("the process %s has not exited: %w", p.name, context.Cause(ctx))
		}
	}
	return nil
}

// Restart restarts those processes of the member that have exited, with the same data, ports and
// logs. It does not wait until they are ready, and starts no process if the cluster has been
// stopped.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	return c.startChanged(ctx, name, func(*member, int) error { return nil })
}

// RestartWithServer is like Restart, but uses another server for this start and all later ones.
func (c *Cluster) RestartWithServer(ctx context.Context, name string, s Server) error {
	return c.startChanged(ctx, name, func(m *member, i int) error {
		m.spec.Exec = s.Exec
		if m.hostLaunch.Version, m.hostLaunch.Exec = s.Version, ""; s.Version == "" {
			m.hostLaunch.Exec = s.Exec
		}
		return c.relaunch(m, i)
	})
}

// RestartEmpty removes the data of a member whose processes have all exited, and starts it as a
// member that joins the others.
func (c *Cluster) RestartEmpty(ctx context.Context, name string) error {
	return c.startChanged(ctx, name, func(m *member, i int) error {
		if slices.ContainsFunc(m.startedProcesses(), func(p startedProcess) bool { return !p.hasExited() }) {
			return errors.New("the member is still running, so its data cannot be removed")
		}
		if err := m.place.host.Empty(ctx, m.launch.DataDir); err != nil {
			return err
		}
		m.spec.JoiningMember, m.hostLaunch.Joining = name, name
		return c.relaunch(m, i)
	})
}

// startChanged calls the function change, which changes a member's launch. Then it restarts those
// processes of the member that have exited.
func (c *Cluster) startChanged(ctx context.Context, name string, change func(m *member, i int) error) error {
	m, i, err := c.find(name)
	if err != nil {
		return err
	}
	c.stopping.Lock()
	defer c.stopping.Unlock()
	if c.stopped {
		return errors.New("member " + name + " is not restarted, because its cluster was stopped")
	}
	if err = change(m, i); err == nil {
		err = c.startProcesses(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("cannot restart member %s: %w", name, err)
	}
	return nil
}

// relaunch asks the store for the new command of the i-th member.
func (c *Cluster) relaunch(m *member, i int) error {
	l, err := c.store.Launch(m.spec)
	if err != nil {
		return err
	}
	m.launch = l.Processes[i]
	return nil
}
