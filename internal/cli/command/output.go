package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// PrintError prints an error on one line. If a scenario file has several errors, PrintError prints
// each error on its own line.
func PrintError(to io.Writer, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	lines := []string{err.Error()}
	var file file.Errors
	if errors.As(err, &file) {
		lines = file.Lines()
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(to, "quorumbench: %s\n", printableLine(line)) // there is no place to report an error
	}
}

// Warn prints warnings to standard error. Warnings do not change the exit code.
func (a *App) Warn(sentences ...string) {
	for _, s := range sentences {
		a.PrintNote("warning: %s", s)
	}
}

// PrintNote prints a sentence to standard error.
func (a *App) PrintNote(format string, args ...any) {
	makePrintable(args)
	_, _ = fmt.Fprintf(a.Stderr, "quorumbench: %s\n", fmt.Sprintf(format, args...)) // there is no place to report an error
}

// Printf writes to standard output. Main reports the first write error. Arguments cannot add line
// breaks, because makePrintable turns each argument into text that is printable on one line.
func (a *App) Printf(format string, args ...any) {
	makePrintable(args)
	_, _ = fmt.Fprintf(a.Stdout, format, args...)
}

// makePrintable replaces strings and errors in args with text that is printable on one line. It
// changes args in place so that go vet still recognizes the callers as wrappers of Fprintf.
func makePrintable(args []any) {
	for i, arg := range args {
		switch of := arg.(type) {
		case string:
			args[i] = printableLine(of)
		case error:
			args[i] = printableLine(of.Error())
		}
	}
}

// Output is a writer that makes text printable before it passes the text to an underlying writer.
// It keeps the first error from the underlying writer.
type Output struct {
	out   *text.Writer
	style text.Style
	Err   error // first error from the underlying writer
}

// NewOutput returns an Output that writes to a writer. It uses colours if the writer is a terminal
// that supports them.
func NewOutput(to io.Writer) *Output {
	file, ok := to.(*os.File)
	style := text.Style{Colour: ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	return &Output{out: text.NewStyledWriter(to, style), style: style}
}

// Flush writes buffered text, such as an incomplete character.
func (o *Output) Flush() {
	if o.Err == nil {
		o.Err = o.out.Flush()
	}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	if o.Err != nil {
		return 0, o.Err
	}
	n, err := o.out.Write(p)
	o.Err = err
	return n, err
}
