package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Say prints an error: one line, or one for each thing that is wrong with a
// scenario file.
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
		_, _ = fmt.Fprintf(to, "quorumbench: %s\n", shown(line)) // nobody is left to read it
	}
}

// Warn prints sentences that change no exit code.
func (a *App) Warn(sentences ...string) {
	for _, s := range sentences {
		a.Remark("warning: %s", s)
	}
}

// Remark prints a sentence on standard error.
func (a *App) Remark(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.Stderr, "quorumbench: %s\n", fmt.Sprintf(format, args...)) // nobody is left to read it
}

// Printf writes to standard output, whose first error Main reports. What the
// format makes lines of stays within them, whatever it is.
func (a *App) Printf(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.Stdout, format, args...)
}

// within makes parts of a line of the texts among the arguments of a format, in
// their place, so that vet still sees a wrapper of Fprintf in its callers.
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

// Output makes what is written to it printable, whatever it is made of, and
// keeps the first error of where that goes.
type Output struct {
	to  *text.Writer
	Err error // the first of where it goes
}

// NewOutput returns the output that goes to a writer.
func NewOutput(to io.Writer) *Output { return &Output{to: text.NewWriter(to)} }

// Flush writes what waits for its end.
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
