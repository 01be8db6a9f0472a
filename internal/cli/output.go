package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// say prints an error: one line, or one for each thing that is wrong with a
// scenario file.
func say(to io.Writer, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	lines := []string{err.Error()}
	var file scenario.Errors
	if errors.As(err, &file) {
		lines = file.Lines()
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(to, "quorumbench: %s\n", sentence(line)) // nobody is left to be told
	}
}

// sentence puts what a library said in several lines into one, and whatever it
// quotes, printable.
func sentence(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(strings.TrimSpace(line), ";"); line != "" {
			parts = append(parts, line)
		}
	}
	return printable.Line(strings.Join(parts, "; "), printable.OfOutput)
}

// warn prints sentences that change no exit code.
func (a *app) warn(sentences ...string) {
	for _, s := range sentences {
		a.remark("warning: %s", s)
	}
}

// remark prints a sentence on standard error.
func (a *app) remark(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.stderr, "quorumbench: %s\n", fmt.Sprintf(format, args...)) // nobody is left to be told
}

// printf writes to standard output, whose first error Main reports. What the
// format makes lines of stays within them, whatever it is.
func (a *app) printf(format string, args ...any) {
	within(args)
	_, _ = fmt.Fprintf(a.stdout, format, args...)
}

// within makes parts of a line of the texts among the arguments of a format, in
// their place, so that vet still sees a wrapper of Fprintf in its callers.
func within(args []any) {
	for i, arg := range args {
		switch of := arg.(type) {
		case string:
			args[i] = printable.Line(of, printable.OfOutput)
		case error:
			args[i] = sentence(of.Error())
		}
	}
}

// output makes what is written to it printable, whatever it is made of, and
// keeps the first error of where that goes.
type output struct {
	to  *printable.Writer
	err error
}

func newOutput(to io.Writer) *output { return &output{to: printable.NewWriter(to)} }

// flush writes what waits for its end.
func (o *output) flush() {
	if o.err == nil {
		o.err = o.to.Flush()
	}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}
