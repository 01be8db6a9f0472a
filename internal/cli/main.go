// Package cli is the command line: one file for each command. A command turns
// flags into a scenario or into one call, and what came of it into an exit
// code; it renders progress, and reopens the record to print the result.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// The exit codes of every command.
const (
	ExitDone        = 0   // done; the verdict is valid or suspect
	ExitFailed      = 1   // it failed, or the verdict is invalid, or suspect with --strict
	ExitUsage       = 2   // the command line or the scenario file is wrong
	ExitInterrupted = 130 // by SIGINT, SIGTERM or SIGHUP
)

// app is what the commands share.
type app struct {
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer // printable
	screen  io.Writer // standard error as it is, for the display alone
	lookup  func(name string) (store.Store, error)
	catalog scenario.Catalog
	gate    *gate // of the command, if it has one
}

// Main carries out one command line, without the program's name, and returns
// the exit code. Results go to stdout; progress, warnings and errors, each one
// sentence, go to stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	shown := printable.NewWriter(stderr)
	defer func() {
		if r := recover(); r != nil {
			say(shown, fmt.Errorf("internal error: %v, at %s (please report)", r, culprit()))
			code = ExitFailed
		}
		_ = shown.Flush() // nobody is left to be told
	}()
	a := &app{
		stdin: stdin, stdout: newOutput(stdout), stderr: shown, screen: stderr,
		lookup: registry.Lookup, catalog: registry.Catalog{},
	}
	// A reader that has enough, such as head, must not end the program before it
	// has tidied up: its next write fails instead. (Ignoring the signal would make
	// the members ignore it, too.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := a.execute(context.Background(), args)
	a.stdout.flush()
	switch {
	case errors.Is(a.stdout.err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)):
		err = &exit{code: ExitFailed}
	case err == nil && a.stdout.err != nil:
		err = fmt.Errorf("the result cannot be written to standard output: %w", a.stdout.err)
	}
	say(shown, err)
	return exitCode(err)
}

// exit is an error that decides the exit code. Without a cause there is
// nothing more to say.
type exit struct {
	code  int
	cause error
}

// Error is what is still to be said.
func (e *exit) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

// Unwrap returns the cause.
func (e *exit) Unwrap() error { return e.cause }

// usage is what is wrong with a command line, in one sentence.
func usage(format string, args ...any) error {
	return &exit{code: ExitUsage, cause: fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var e *exit
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}

// culprit says where the panic that is being recovered from came from: a
// report of it is of no use without.
func culprit() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

// self is the path of our own binary, for the stores that are embedded in it.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program cannot be told, and members are started from it: %w", err)
	}
	return path, nil
}
