// Package command is what commands of the program share: the flags of their
// values and of the cluster that they are about, the run that they conduct and how
// it is shown and judged, and the exit code.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The exit codes of every command.
const (
	ExitDone        = 0   // done; the verdict is valid or suspect
	ExitFailed      = 1   // it failed, or the verdict is invalid, or suspect with --strict
	ExitUsage       = 2   // the command line or the scenario file is wrong
	ExitInterrupted = 130 // by SIGINT, SIGTERM or SIGHUP
)

// App is what the commands share.
type App struct {
	Stdin   io.Reader
	Stdout  *Output
	Stderr  io.Writer // printable
	Screen  io.Writer // standard error as it is, for the display alone
	Lookup  func(name string) (store.Store, error)
	Catalog scenario.Catalog
	Gate    *Gate // of the command, if it has one
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
