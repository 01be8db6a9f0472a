// Package text formats numbers for people and makes foreign text safe to print: text from
// servers, run directories, scenario files and environments may contain terminal commands,
// line breaks and characters that reverse what follows them. All foreign text that the
// program shows or keeps goes through this package.
package text

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// How many bytes of foreign text are kept, where it comes from or goes to.
const (
	OfServer = 300     // what a server calls itself, or what it says of an error
	OfField  = 4096    // a field of a run directory
	OfOutput = 1 << 16 // a text within a line that we print
)

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Line is a text as a part of one line: printable, and of at most so many bytes
// with an ellipsis at its end if it was longer. A semicolon separates what were lines of
// their own, such as several errors in one or a library's list.
func Line(s string, most int) string {
	if len(s) <= most && Printable(s) {
		return s
	}
	s = joinLines(s)
	// No byte becomes less than one, so that the rest is not looked at.
	out := appendTo(nil, []byte(s[:min(len(s), most+1)]), false)
	if len(out) <= most {
		return string(out)
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(out[end]) {
		end--
	}
	return string(out[:end]) + ellipsis
}

// joinLines makes one line of several, without those that are empty.
func joinLines(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	var b strings.Builder
	separator := ""
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if stripped := strings.TrimRight(line, ";"); stripped != "" {
			b.WriteString(separator + stripped)
			separator = "; "
			if strings.HasSuffix(stripped, ":") {
				separator = " "
			}
		}
	}
	return b.String()
}

// Lines is a text of several lines: line ends and tabs stay, and nothing is cut.
func Lines(s string) string { return string(PrintableBytes([]byte(s))) }

// PrintableBytes is Lines for bytes. It returns b itself if nothing is to be done.
func PrintableBytes(b []byte) []byte {
	for i := 0; i < len(b); {
		n, shown := glyph(b[i:])
		if !shown && !ofLayout(b[i]) {
			return appendTo(append(make([]byte, 0, len(b)+len(b)/8+16), b[:i]...), b[i:], true)
		}
		i += n
	}
	return b
}

// Printable reports whether a text can be shown within a line as it is.
func Printable(s string) bool {
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return false // a byte that is not UTF-8
		case !unicode.IsGraphic(r):
			return false
		}
	}
	return true
}

// ofLayout are the bytes that make lines and columns.
func ofLayout(c byte) bool { return c == '\n' || c == '\t' }

// glyph is the length of the character at the beginning of b, and whether it is
// shown as itself. U+FFFD is; a byte that is not UTF-8 is not.
func glyph(b []byte) (length int, shown bool) {
	if b[0] < utf8.RuneSelf {
		return 1, b[0] >= ' ' && b[0] < 0x7f
	}
	r, n := utf8.DecodeRune(b)
	return n, n > 1 && unicode.IsGraphic(r)
}

// appendTo appends b with escapes; keep leaves what makes lines and columns.
func appendTo(to, b []byte, keep bool) []byte {
	for len(b) > 0 {
		n, shown := glyph(b)
		if shown || keep && ofLayout(b[0]) {
			to = append(to, b[:n]...)
		} else {
			to = escape(to, b[:n])
		}
		b = b[n:]
	}
	return to
}

const hex = "0123456789abcdef"

// escape appends the escape of one character, or of a byte that is none.
func escape(to, b []byte) []byte {
	c := b[0]
	switch {
	case c == '\n':
		return append(to, `\n`...)
	case c == '\r':
		return append(to, `\r`...)
	case c == '\t':
		return append(to, `\t`...)
	case c < ' ', len(b) == 1 && c >= utf8.RuneSelf:
		return append(to, '\\', 'x', hex[c>>4], hex[c&15])
	}
	r, _ := utf8.DecodeRune(b)
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return unit(unit(to, high), low)
	}
	return unit(to, r)
}

// unit appends \u and the four digits of a UTF-16 unit.
func unit(to []byte, r rune) []byte {
	return append(to, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// formulas are the characters with which spreadsheet programs begin one, in
// ASCII and in full width.
const formulas = "=+-@\uff1d\uff0b\uff0d\uff20"

// Cell is a text as a cell of CSV: a Line, with an apostrophe before what a
// spreadsheet program would calculate. It is for names and sentences; a number
// stays as it is.
func Cell(s string) string {
	s = Line(s, OfField)
	if s != "" && strings.IndexAny(s, formulas) == 0 {
		return "'" + s
	}
	return s
}

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
	if _, err := w.to.Write(PrintableBytes(b[:whole])); err != nil {
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
	_, err := w.to.Write(PrintableBytes(rest))
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
