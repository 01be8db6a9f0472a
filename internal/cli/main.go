// Package cli implements the command line, with one file per command. A command turns flags into a
// scenario or a call, shows progress, reads the record to print the result, and returns an exit
// code.
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

// commandLine is the receiver of all commands, and holds what they share.
type commandLine struct{ *command.App }

// Main executes a command line, given without the program's name, and returns the exit code.
// Results go to stdout; progress, warnings and errors (one sentence each) go to stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return carryOut(stdin, stdout, stderr, func(a *commandLine) error {
		a.Args = args
		return a.execute(context.Background(), args)
	})
}

// carryOut calls do, prints its error, and returns the exit code. A panic becomes an error.
func carryOut(stdin io.Reader, stdout, stderr io.Writer, do func(*commandLine) error) (code int) {
	shown := text.NewWriter(stderr)
	defer func() {
		if r := recover(); r != nil {
			command.Say(shown, fmt.Errorf("internal error: %v, at %s (please report)", r, culprit()))
			code = command.ExitFailed
		}
		_ = shown.Flush() // an error cannot be reported anywhere else
	}()
	a := &commandLine{&command.App{
		Stdin: stdin, Stdout: command.NewOutput(stdout), Stderr: shown, Screen: stderr,
		Lookup: registry.Lookup, Catalog: registry.Catalog{Apps: load.Applications},
	}}
	// A reader that closes the pipe, such as head, must not end the program before the program
	// has cleaned up: the next write fails instead. (Members would inherit an ignored signal.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := do(a)
	a.Stdout.Flush()
	switch {
	case errors.Is(a.Stdout.Err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)):
		err = &command.Exit{Code: command.ExitFailed}
	case err == nil && a.Stdout.Err != nil:
		err = fmt.Errorf("the result cannot be written to standard output: %w", a.Stdout.Err)
	}
	command.Say(shown, withAuthority(err))
	return command.ExitCode(err)
}

// withAuthority adds the remedy to the error of a certificate whose authority is not known.
func withAuthority(err error) error {
	const unknown = "certificate signed by unknown authority"
	if err == nil || !strings.Contains(err.Error(), unknown) {
		return err
	}
	return fmt.Errorf("%w; give the authority of the servers' certificates with --cacert FILE", err)
}

// culprit returns the file and line of the panic that is being recovered, for the error message.
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
