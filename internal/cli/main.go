// Package cli implements the command line, with one file per command. A command turns its flags
// into a scenario or a function call, shows progress, prints the result from the record, and
// returns an exit code.
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

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/text"
)

// commandLine is the receiver of all commands. It holds the state that they share.
type commandLine struct{ *command.App }

// Main executes a command line and returns the exit code. args does not include the program's name.
// Results go to stdout; progress, warnings and errors go to stderr. Each error is one sentence.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return runAction(stdin, stdout, stderr, func(a *commandLine) error {
		a.Args = args
		return a.execute(context.Background(), args)
	})
}

// runAction calls action, prints the error that action returns, and returns the exit code. If
// action panics, runAction prints the panic as an error.
func runAction(stdin io.Reader, stdout, stderr io.Writer, action func(*commandLine) error) (code int) {
	shown := text.NewWriter(stderr)
	defer func() {
		if r := recover(); r != nil {
			command.PrintError(shown, fmt.Errorf("internal error: %v, at %s (please report)", r, panicLocation()))
			code = command.ExitFailed
		}
		_ = shown.Flush() // there is no place to report an error
	}()
	a := &commandLine{&command.App{
		Stdin: stdin, Stdout: command.NewOutput(stdout), Stderr: shown, Screen: stderr,
		Plugin: isPlugin(),
		Lookup: registry.Lookup, Catalog: registry.Catalog{Apps: load.Applications},
	}}
	// If a program such as head closes the pipe, or if the reader of an agent's standard error exits,
	// quorumbench must still clean up. Because SIGPIPE is caught, the next write fails, but the
	// program does not end. The program must not ignore SIGPIPE instead, because members would
	// inherit that setting.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := action(a)
	a.Stdout.Flush()
	switch {
	case errors.Is(a.Stdout.Err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)):
		err = &command.Exit{Code: command.ExitFailed}
	case err == nil && a.Stdout.Err != nil:
		err = fmt.Errorf("cannot write the result to standard output: %w", a.Stdout.Err)
	}
	command.PrintError(shown, err)
	return command.ExitCode(err)
}

// panicLocation returns the file and line at which the panic occurred, for the error message.
func panicLocation() string {
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
