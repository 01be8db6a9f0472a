package cluster

import (
	"context"
	"errors"
	"fmt"
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
			return fmt.Errorf("the process %s has not ended: %w", p.name, context.Cause(ctx))
		}
	}
	return nil
}

// StartAgain implements Running. A member that was running while its cluster
// stopped is not started again.
func (c *Cluster) StartAgain(ctx context.Context, name string) error {
	m, i, err := c.find(name)
	if err != nil {
		return err
	}
	c.stopping.Lock()
	defer c.stopping.Unlock()
	if c.stopped {
		return errors.New("member " + name + " is not started again: its cluster was stopped")
	}
	if err := c.startProcesses(ctx, m, c.launch.Processes[i]); err != nil {
		return fmt.Errorf("member %s cannot be started again: %w", name, err)
	}
	return nil
}
