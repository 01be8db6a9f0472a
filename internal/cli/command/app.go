// Package command is what commands of the program share: the flags of their
// values and of the cluster that they are about, the run that they conduct and how
// it is shown and judged, and the exit code.
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
	ExitFailed      = 1   // it failed, or the verdict is invalid, or suspect with --strict
	ExitUsage       = 2   // the command line or the scenario file is wrong
	ExitNotSent     = 5   // done, and the run directory could not be sent as --upload asks
	ExitNotKnown    = 6   // nothing failed, and what was to be judged could not be
	ExitInterrupted = 130 // by SIGINT, SIGTERM or SIGHUP
)

// App is what the commands share.
type App struct {
	Args    []string // the command line without the program's name
	Stdin   io.Reader
	Stdout  *Output
	Stderr  io.Writer // printable
	Screen  io.Writer // standard error as it is, for the display alone
	Lookup  func(name string) (store.Store, error)
	Catalog scenario.Catalog
	Wide    bool  // print text with all columns and details
	Gate    *Gate // of the command; every one that calls Conduct has one, by Gated

	told map[string]bool // lines about environment variables that were printed
}

// Exit is an error that decides the exit code. Without a cause there is
// nothing more to say.
type Exit struct {
	Code  int
	Cause error
}

// Error is what is still to be said.
func (e *Exit) Error() string {
	if e.Cause == nil {
		return ""
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Exit) Unwrap() error { return e.Cause }

// Usage is what is wrong with a command line, in one sentence.
func Usage(format string, args ...any) error {
	return &Exit{Code: ExitUsage, Cause: fmt.Errorf(format, args...)}
}

// ExitCode is the exit code of what a command returned.
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

// Self is the path of our own binary, for the stores that are embedded in it.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program cannot be told, and members are started from it: %w", err)
	}
	return path, nil
}

// Tool is this program as its records name it.
func Tool() record.Tool {
	t := record.Tool{Version: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	return toolOf(t, info)
}

// toolOf takes what the Go toolchain wrote into the binary; a build outside of
// a checkout has neither version nor revision.
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
