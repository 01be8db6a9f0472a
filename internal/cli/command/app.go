// Package command implements what all commands of the program share: typed flags, the flags that
// select a cluster, running a scenario with a progress display, checking thresholds, and exit
// codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Exit codes that every command uses.
const (
	ExitSuccess      = 0   // success; the verdict is valid or suspect
	ExitFailed       = 1   // the command failed, the verdict is invalid, or it is suspect and --strict is given
	ExitUsage        = 2   // the command line or the scenario file is wrong
	ExitUploadFailed = 5   // success, but --upload could not send the run directory
	ExitUndecided    = 6   // nothing failed, but there is no result to judge
	ExitInterrupted  = 130 // interrupted by SIGINT, SIGTERM or SIGHUP
)

// App holds the state that all commands share: arguments, streams, stores and the thresholds.
type App struct {
	Args    []string // command line without the program's name
	Stdin   io.Reader
	Stdout  *Output
	Stderr  io.Writer // makes all text printable
	Screen  io.Writer // unfiltered standard error, used only by the progress display
	Lookup  func(name string) (store.Store, error)
	Catalog scenario.Catalog
	Plugin  bool // set if kubectl started the program as its plug-in
	Wide    bool // set if text output has all columns and details
	// Progress is the value of --progress, or the flag's default for a command without this flag.
	Progress string
	publish  publishFlags // set by AddMetrics
	Gate     *Gate        // set by AddGateFlags; every command that calls ExecuteRun has a Gate

	// CleanupFlags is not empty if this program runs in a pod, where users cannot run commands. It
	// contains the flags with which users can remove this program's keys.
	CleanupFlags string

	printed map[string]bool // lines about environment variables that are already printed
}

// Exit is an error with an exit code. An Exit without a cause prints no message.
type Exit struct {
	Code  int
	Cause error
}

// Error returns the cause's message, or an empty string without a cause.
func (e *Exit) Error() string {
	if e.Cause == nil {
		return ""
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Exit) Unwrap() error { return e.Cause }

// Usage returns the error for an invalid command line. The program then exits with status
// ExitUsage.
func Usage(format string, args ...any) error {
	return &Exit{Code: ExitUsage, Cause: fmt.Errorf(format, args...)}
}

// ExitCode returns the program's exit code for an error that a command returned.
func ExitCode(err error) int {
	var e *Exit
	switch {
	case err == nil:
		return ExitSuccess
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}

// Self returns the path of the running executable. quorumbench runs this executable to start the
// members of stores that are built into it.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find the path of this program, which is needed to start members: %w", err)
	}
	return path, nil
}

// Interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, and a function
// that stops catching these signals. A second SIGINT or SIGTERM has its default effect: it ends the
// program, and with it the members, at once. A second SIGHUP is ignored, because a closing terminal
// sends SIGHUP twice: directly and through the shell.
func Interruptible(ctx context.Context, announce func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // if nohup started the program, SIGHUP stays ignored
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
