package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Say prints an error in one line, or the errors of a scenario file in one line each.
func Say(to io.Writer, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	lines := []string{err.Error()}
	var file scenario.Errors
	if errors.As(err, &file) {
		lines = file.Lines()
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(to, "quorumbench: %s\n", shown(line)) // an error cannot be reported anywhere else
	}
}

// Warn prints warnings on standard error. They do not change the exit code.
func (a *App) Warn(sentences ...string) {
	for _, s := range sentences {
		a.Remark("warning: %s", s)
	}
}

// Remark prints a sentence on standard error.
func (a *App) Remark(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.Stderr, "quorumbench: %s\n", fmt.Sprintf(format, args...)) // an error cannot be reported anywhere else
}

// Printf writes to standard output, whose first error Main reports. Arguments cannot add lines:
// within makes each one printable as a part of a line.
func (a *App) Printf(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.Stdout, format, args...)
}

// within replaces strings and errors in args by text that is printable within a line. It changes
// args in place so that vet still recognizes the callers as wrappers of Fprintf.
func within(args []any) {
	for i, arg := range args {
		switch of := arg.(type) {
		case string:
			args[i] = shown(of)
		case error:
			args[i] = shown(of.Error())
		}
	}
}

// Output makes the text that is written to it printable, and keeps the first error of the
// underlying writer.
type Output struct {
	to  *text.Writer
	Err error // the first error of the underlying writer
}

// NewOutput returns an Output that writes to a writer.
func NewOutput(to io.Writer) *Output { return &Output{to: text.NewWriter(to)} }

// Flush writes buffered text, such as an incomplete character.
func (o *Output) Flush() {
	if o.Err == nil {
		o.Err = o.to.Flush()
	}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	if o.Err != nil {
		return 0, o.Err
	}
	n, err := o.to.Write(p)
	o.Err = err
	return n, err
}
