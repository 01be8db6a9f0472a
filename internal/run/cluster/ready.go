package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The pause between two requests grows from firstPause to lastPause while the cluster is not ready.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// defaultStartTimeout is the start timeout for a store that does not specify one.
const defaultStartTimeout = time.Minute

// errNotReady reports that the start timeout has expired.
var errNotReady = errors.New("the cluster was not ready")

// awaitReady polls the members until all respond and agree on a leader.
func (c *Cluster) awaitReady(ctx context.Context, name string) error {
	status, err := poll(ctx, c.admin, c.launch.StartTimeout, c.processes())
	if err != nil {
		return fmt.Errorf("the %s cluster did not start: %w", name, err)
	}
	for i := range status.Members {
		c.members[i].details.ID = status.Members[i].ID // no other goroutine uses the cluster yet
	}
	return nil
}

// poll asks for the status until the cluster is ready, one of its processes exits, the timeout
// expires, or ctx is canceled.
func poll(ctx context.Context, admin store.Admin, timeout time.Duration, processes []startedProcess) (store.Status, error) {
	if timeout <= 0 {
		timeout = defaultStartTimeout
	}
	requestCtx, cancel := context.WithTimeoutCause(ctx, timeout, errNotReady)
	defer cancel()
	requestCtx, end := context.WithCancelCause(requestCtx)
	defer end(nil)
	for _, p := range processes {
		go func() {
			select {
			case <-p.Exited():
				end(&startError{member: p.name, logFile: p.logFile, exit: p.Exit()})
			case <-requestCtx.Done():
			}
		}()
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	lastErr := errors.New("no request has been sent yet")
	for nextPause := firstPause; ; nextPause = min(nextPause*3/2, lastPause) {
		select {
		case <-requestCtx.Done():
			if err := context.Cause(requestCtx); err != errNotReady {
				return store.Status{}, err
			}
			return store.Status{}, fmt.Errorf("%w after %v: %w", errNotReady, timeout, lastErr)
		case <-pause.C:
		}
		status, err := admin.Status(requestCtx)
		if err == nil {
			err = CheckReady(&status)
		}
		if requestCtx.Err() == nil {
			if err == nil {
				return status, nil
			}
			lastErr = err
		}
		pause.Reset(nextPause)
	}
}

// CheckReady returns nil if a cluster with this status can serve, and otherwise the reason. All
// members must respond, and exactly one must be leader, in a term that all members report.
func CheckReady(s *store.Status) error {
	leaders := 0
	for i := range s.Members {
		m := &s.Members[i]
		switch {
		case m.Err != nil:
			return m.Err
		case m.Role == kv.UnknownRole:
			return fmt.Errorf("%s knows no leader", m.Endpoint)
		case m.Term != s.Term:
			return fmt.Errorf("%s is in term %d, but another member is in term %d", m.Endpoint, m.Term, s.Term)
		case m.Role == kv.Leader:
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Errorf("term %[2]d has %[1]d leaders", leaders, s.Term)
	}
	return nil
}
