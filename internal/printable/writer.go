package printable

import (
	"io"
	"unicode/utf8"
)

// Writer makes what is written to it printable, as Lines does. It is the last
// thing before a terminal: what comes through it can forge no terminal command,
// wherever it came from.
type Writer struct {
	to   io.Writer
	rest []byte // of a character whose end has not come
}

// NewWriter returns a Writer to another one.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write implements io.Writer. A character whose end is not in p waits for it.
func (w *Writer) Write(p []byte) (int, error) {
	b := p
	if len(w.rest) > 0 {
		b = append(w.rest, p...)
	}
	whole := len(b) - unfinished(b)
	if _, err := w.to.Write(Bytes(b[:whole])); err != nil {
		return 0, err
	}
	w.rest = append([]byte(nil), b[whole:]...)
	return len(p), nil
}

// Flush writes what waits for its end, which does not come.
func (w *Writer) Flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	rest := w.rest
	w.rest = nil
	_, err := w.to.Write(Bytes(rest))
	return err
}

// unfinished is how many bytes at the end of b begin a character.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
