package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/quorumbench/quorumbench/internal/store"
)

// errParentGone is the reason why a member stops when its parent process has ended.
var errParentGone = errors.New("the process that started this member has ended")

// closeGrace limits how long a member may take to close after its parent process has ended. The
// limit does no harm, because the member's data will be removed anyway.
const closeGrace = time.Second

// RunMember implements store.Embedded. The member writes etcd's structured log to standard
// error, and serves /metrics at its client port.
func (*Store) RunMember(ctx context.Context, configFile string) error {
	cfg, err := embed.ConfigFromFile(configFile)
	if err != nil {
		return fmt.Errorf("cannot use the etcd configuration %s: %w", configFile, err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if os.Getenv(store.ParentEnv) == store.ParentStdin {
		go waitForParent(os.Stdin, cancel)
	}

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("etcd member %s did not start: %w", cfg.Name, err)
	}
	select {
	case <-ctx.Done():
		return closeMember(ctx, e)
	case <-e.Server.StopNotify():
		e.Close()
		return fmt.Errorf("etcd member %s stopped unexpectedly", cfg.Name)
	case err := <-e.Err():
		e.Close()
		return fmt.Errorf("etcd member %s failed: %w", cfg.Name, err)
	}
}

// waitForParent blocks until the parent's end of the pipe stdin is closed, and then calls cancel.
// When the parent ends or is killed, the kernel closes the parent's end of the pipe.
func waitForParent(stdin io.Reader, cancel context.CancelCauseFunc) {
	_, _ = io.Copy(io.Discard, stdin)
	cancel(errParentGone)
}

// closeMember closes a member gracefully. If the parent process has ended, closeMember waits at
// most closeGrace, because no other process would kill a member that does not close.
func closeMember(ctx context.Context, e *embed.Etcd) error {
	if !errors.Is(context.Cause(ctx), errParentGone) {
		e.Close()
		return nil
	}
	closed := make(chan struct{})
	go func() { e.Close(); close(closed) }()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	return errParentGone
}
