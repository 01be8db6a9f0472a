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

// errParentGone is the cause when a member ends because its parent died.
var errParentGone = errors.New("the process that started this member has ended")

// closeGrace limits how long a member without a parent takes to close; its data
// is about to be removed.
const closeGrace = time.Second

// RunMember implements store.Embedded. etcd's structured log goes to standard
// error; the client port serves /metrics.
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

// waitForParent blocks until the parent's end of the pipe is closed, which the
// kernel does however the parent ends.
func waitForParent(stdin io.Reader, cancel context.CancelCauseFunc) {
	_, _ = io.Copy(io.Discard, stdin)
	cancel(errParentGone)
}

// closeMember closes a member gracefully when it was asked to stop. Without a
// parent it waits at most closeGrace, because no other process would end the
// member.
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
