package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// stopTimeout limits how long members may take to exit after they have been asked to. They are then
// killed.
const stopTimeout = 5 * time.Second

// killTimeout limits the wait for a killed process to exit. A killed process exits immediately
// unless it hangs in a system call.
const killTimeout = 10 * time.Second

// lonelyGrace is how long members may take to exit when fewer than a quorum are left. Some of them
// wait for a member to which they can hand over their role, but no member can take it.
const lonelyGrace = 300 * time.Millisecond

// quorum returns the smallest number of members that form a majority.
func quorum(members int) int { return members/2 + 1 }

// Stop asks the members to exit and waits until they have exited, stopTimeout has passed, or ctx is
// canceled. Then it kills the members that are still running and removes the data folder. The logs
// remain. Further calls have no effect.
func (c *Cluster) Stop(ctx context.Context) error { return c.stop(ctx, stopTimeout) }

// stop is like Stop, but waits only for the given grace period. If grace is 0, it kills the members
// immediately.
func (c *Cluster) stop(ctx context.Context, grace time.Duration) error {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var errs []error
	// The clean-up must happen even if ctx has been canceled.
	uncanceled := context.WithoutCancel(ctx)
	if grace > 0 {
		errs = append(errs, c.signalAll(uncanceled, host.Terminate), c.signalAll(uncanceled, host.Resume))
		c.awaitOrderly(ctx, grace)
	}
	errs = append(errs, c.signalAll(uncanceled, host.Kill))
	if left := c.awaitExits(killTimeout); left != "" {
		errs = append(errs, fmt.Errorf("member %s was killed but has not exited", left))
	}
	if c.admin != nil {
		errs = append(errs, c.admin.Close())
	}
	c.collectLogs(uncanceled)
	for _, m := range c.allMembers() {
		if m.disk != nil {
			m.disk.Close()
		}
	}
	if c.network != nil {
		c.network.Close()
	}
	for _, p := range c.places {
		if p.lease != nil {
			p.lease.Release()
		}
		if p.data != nil {
			errs = append(errs, p.data.Release(uncanceled))
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) signalAll(ctx context.Context, s host.Signal) error {
	var errs []error
	for _, m := range c.allMembers() {
		errs = append(errs, m.signal(ctx, s))
	}
	return errors.Join(errs...)
}

// awaitOrderly waits until all members have exited, the grace period is over, or ctx is canceled.
func (c *Cluster) awaitOrderly(ctx context.Context, grace time.Duration) {
	ended := make(chan struct{}, len(c.members))
	for _, m := range c.members {
		go func() {
			for _, p := range m.startedProcesses() {
				<-p.Exited()
			}
			ended <- struct{}{}
		}()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for remaining := len(c.members); remaining > 0; {
		select {
		case <-ended:
			if remaining--; remaining == quorum(len(c.members))-1 {
				timer.Reset(min(grace, lonelyGrace))
			}
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}

// awaitExits waits until all members have exited, and returns "". If the limit is reached first, it
// returns the name of a process that has not exited.
func (c *Cluster) awaitExits(limit time.Duration) string {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, m := range c.allMembers() {
		for _, p := range m.startedProcesses() {
			select {
			case <-p.Exited():
			case <-timer.C:
				return p.name
			}
		}
	}
	return ""
}
