// Package command implements what the commands of the program share: typed flags, the flags that
// select a cluster, the execution and display of a run, the check of its thresholds, and exit
// codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The exit codes of every command.
const (
	ExitDone        = 0   // done; the verdict is valid or suspect
	ExitFailed      = 1   // the command failed, or the verdict is invalid, or suspect with --strict
	ExitUsage       = 2   // the command line or the scenario file is wrong
	ExitNotSent     = 5   // done, and --upload could not send the run directory
	ExitNotKnown    = 6   // nothing failed, and the result could not be judged
	ExitInterrupted = 130 // interrupted by SIGINT, SIGTERM or SIGHUP
)

// App holds the state that all commands share: arguments, streams, stores and the gate.
type App struct {
	Args    []string // the command line without the program's name
	Stdin   io.Reader
	Stdout  *Output
	Stderr  io.Writer // makes text printable
	Screen  io.Writer // the unfiltered standard error, only for the display
	Lookup  func(name string) (store.Store, error)
	Catalog scenario.Catalog
	Wide    bool  // print text with all columns and details
	Gate    *Gate // set by Gated; every command that calls Conduct has one

	printed map[string]bool // lines about environment variables that were printed
}

// Exit is an error with an exit code. An Exit without a cause prints no message.
type Exit struct {
	Code  int
	Cause error
}

// Error returns the message of the cause; empty without a cause.
func (e *Exit) Error() string {
	if e.Cause == nil {
		return ""
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Exit) Unwrap() error { return e.Cause }

// Usage returns an error about the command line, which ends the program with ExitUsage.
func Usage(format string, args ...any) error {
	return &Exit{Code: ExitUsage, Cause: fmt.Errorf(format, args...)}
}

// ExitCode returns the exit code for the error that a command returned.
func ExitCode(err error) int {
	var e *Exit
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}

// Self returns the path of the running executable, from which embedded stores are started.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program is unknown, but members are started from it: %w", err)
	}
	return path, nil
}

// Tool returns the version, Go version and revision of this program, as records name it.
func Tool() record.Tool {
	t := record.Tool{Version: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	return toolOf(t, info)
}

// toolOf completes t from the build information in the binary. A build outside a checkout has
// neither version nor revision.
func toolOf(t record.Tool, info *debug.BuildInfo) record.Tool {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		t.Version = v
	}
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Revision = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed && t.Revision != "" {
		t.Revision += " with changes"
	}
	return t
}

// Interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, and a function
// that releases it. A second SIGINT or SIGTERM has its default effect: it ends the program at once,
// and the members end with it. A second SIGHUP is ignored, because a closing terminal sends SIGHUP
// twice: directly and through the shell.
func Interruptible(ctx context.Context, announce func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
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
