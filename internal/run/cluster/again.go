package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// AwaitEnd implements Running.
func (c *Cluster) AwaitEnd(ctx context.Context, name string) error {
	m, _, err := c.find(name)
	if err != nil {
		return err
	}
	for _, p := range m.running() {
		select {
		case <-p.Exited():
		case <-ctx.Done():
			return fmt.Errorf("the process %s has not exited: %w", p.name, context.Cause(ctx))
		}
	}
	return nil
}

// StartAgain implements Running. It does not start a member if the cluster has been stopped.
func (c *Cluster) StartAgain(ctx context.Context, name string) error {
	return c.startChanged(ctx, name, func(*member, int) error { return nil })
}

// StartAs implements Running.
func (c *Cluster) StartAs(ctx context.Context, name string, s Server) error {
	return c.startChanged(ctx, name, func(m *member, i int) error {
		m.asked.Exec = s.Exec
		if m.of.Version, m.of.Exec = s.Version, ""; s.Version == "" {
			m.of.Exec = s.Exec
		}
		return c.launchAgain(m, i)
	})
}

// StartEmpty implements Running.
func (c *Cluster) StartEmpty(ctx context.Context, name string) error {
	return c.startChanged(ctx, name, func(m *member, i int) error {
		if slices.ContainsFunc(m.running(), func(p running) bool { return !p.ended() }) {
			return errors.New("the member is still running, so its data cannot be removed")
		}
		if err := c.emptyFolder(ctx, m); err != nil {
			return err
		}
		m.asked.Joining, m.of.Joining = name, name
		return c.launchAgain(m, i)
	})
}

// emptyFolder removes everything in a member's data folder.
func (c *Cluster) emptyFolder(ctx context.Context, m *member) error {
	emptier, ok := m.place.host.(host.Emptier)
	if !ok {
		return errors.New("the member's host does not support emptying folders")
	}
	return emptier.Empty(ctx, m.launch.DataDir)
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

// launchAgain asks the store for the new command of the i-th member.
func (c *Cluster) launchAgain(m *member, i int) error {
	l, err := c.store.Launch(m.asked)
	if err != nil {
		return err
	}
	m.launch = l.Processes[i]
	return nil
}
