package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels. A second SIGINT or SIGTERM does what it does by default: it ends the
// program at once, and the members end with it. A second SIGHUP does nothing:
// a terminal that is closed sends it twice, through the shell and by itself.
func Interruptible(ctx context.Context, announce func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(hangups, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-hangups:
		case <-done:
			return
		}
		signal.Stop(signals)
		announce()
		cancel()
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(hangups)
		close(done)
		cancel()
	}
}
