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

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/text"
)

// commandLine is the program: what its commands share.
type commandLine struct{ *command.App }

// Main carries out one command line, without the program's name, and returns
// the exit code. Results go to stdout; progress, warnings and errors, each one
// sentence, go to stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return carryOut(stdin, stdout, stderr, func(a *commandLine) error {
		a.Args = args
		return a.execute(context.Background(), args)
	})
}

// carryOut does one thing with the program, and says what came of it.
func carryOut(stdin io.Reader, stdout, stderr io.Writer, do func(*commandLine) error) (code int) {
	shown := text.NewWriter(stderr)
	defer func() {
		if r := recover(); r != nil {
			command.Say(shown, fmt.Errorf("internal error: %v, at %s (please report)", r, culprit()))
			code = command.ExitFailed
		}
		_ = shown.Flush() // nobody is left to read it
	}()
	a := &commandLine{&command.App{
		Stdin: stdin, Stdout: command.NewOutput(stdout), Stderr: shown, Screen: stderr,
		Lookup: registry.Lookup, Catalog: registry.Catalog{Apps: load.Applications},
	}}
	// A reader that has enough, such as head, must not end the program before it
	// has tidied up: its next write fails instead. (Ignoring the signal would make
	// the members ignore it, too.)
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
