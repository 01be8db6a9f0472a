// Package text formats numbers for people and makes text from outside the program safe to print.
// Text from servers, run directories, scenario files and environment variables may contain terminal
// commands, line breaks and characters that reverse the direction of the text. All such text goes
// through this package before the program displays or stores it.
package text

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// These are the maximum sizes, in bytes, of text from outside the program. They depend on the
// origin or use of the text.
const (
	MaxServerText = 300     // a server's name or error message
	MaxField      = 4096    // a field of a run directory
	MaxOutput     = 1 << 16 // part of a printed line
)

// ellipsis marks the end of a shortened text.
const ellipsis = "…"

// Line makes a text printable as a part of one line. It shortens a text that is longer than `limit`
// bytes and appends an ellipsis. It replaces line breaks, for example between several errors, by
// semicolons.
func Line(s string, limit int) string {
	if len(s) <= limit && Printable(s) {
		return s
	}
	s = joinLines(s)
	// An escape sequence is never shorter than the bytes that it replaces, so text after this limit
	// cannot be part of the result.
	out := appendTo(nil, []byte(s[:min(len(s), limit+1)]), false)
	if len(out) <= limit {
		return string(out)
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(out[end]) {
		end--
	}
	return string(out[:end]) + ellipsis
}

// joinLines joins those lines of a text that are not empty, usually with semicolons.
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

// Lines makes a text with several lines printable. It keeps line breaks and tabs, and does not
// shorten the text.
func Lines(s string) string { return string(PrintableBytes([]byte(s))) }

// PrintableBytes does the same as Lines, but for a byte slice. If b is already printable, it
// returns b itself.
func PrintableBytes(b []byte) []byte {
	for i := 0; i < len(b); {
		n, unchanged := glyph(b[i:])
		if !unchanged && !isLayout(b[i]) {
			return appendTo(append(make([]byte, 0, len(b)+len(b)/8+16), b[:i]...), b[i:], true)
		}
		i += n
	}
	return b
}

// Printable reports whether a text can be shown unchanged on one line.
func Printable(s string) bool {
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return false // a byte that is not part of valid UTF-8
		case !unicode.IsGraphic(r):
			return false
		}
	}
	return true
}

// isLayout reports whether a byte is a line break or tab.
func isLayout(c byte) bool { return c == '\n' || c == '\t' }

// glyph returns the length of the character at the start of b, and whether it is shown unchanged.
// The character U+FFFD is shown unchanged; a byte that is not valid UTF-8 is not.
func glyph(b []byte) (length int, unchanged bool) {
	if b[0] < utf8.RuneSelf {
		return 1, b[0] >= ' ' && b[0] < 0x7f
	}
	r, n := utf8.DecodeRune(b)
	return n, n > 1 && unicode.IsGraphic(r)
}

// appendTo appends b to dst. It replaces each character that is not printable with an escape
// sequence. If keepLayout is set, it leaves line breaks and tabs unchanged.
func appendTo(dst, b []byte, keepLayout bool) []byte {
	for len(b) > 0 {
		n, shown := glyph(b)
		if shown || keepLayout && isLayout(b[0]) {
			dst = append(dst, b[:n]...)
		} else {
			dst = escape(dst, b[:n])
		}
		b = b[n:]
	}
	return dst
}

const hex = "0123456789abcdef"

// escape appends the escape sequence for one character, or for a byte that is not valid UTF-8.
func escape(dst, b []byte) []byte {
	c := b[0]
	switch {
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	case c < ' ', len(b) == 1 && c >= utf8.RuneSelf:
		return append(dst, '\\', 'x', hex[c>>4], hex[c&15])
	}
	r, _ := utf8.DecodeRune(b)
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendCodeUnit(appendCodeUnit(dst, high), low)
	}
	return appendCodeUnit(dst, r)
}

// appendCodeUnit appends \u and the four hexadecimal digits of a UTF-16 code unit.
func appendCodeUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// formulaStarts contains the characters with which a formula can start in spreadsheet programs, in
// ASCII and in full-width form.
const formulaStarts = "=+-@\uff1d\uff0b\uff0d\uff20"

// Cell makes a text safe for a cell of a CSV file. It makes the text printable as Line does, and
// adds an apostrophe at the start if a spreadsheet program would treat the text as a formula. It is
// for names and sentences; numbers do not need it.
func Cell(s string) string {
	s = Line(s, MaxField)
	if s != "" && strings.IndexAny(s, formulaStarts) == 0 {
		return "'" + s
	}
	return s
}

// Writer makes everything that is written to it printable, as Lines does. It is the last step
// before a terminal, so that no text can send commands to the terminal.
type Writer struct {
	out   io.Writer
	rest  []byte // the bytes of an incomplete character
	style Style
}

// NewWriter returns a Writer that writes to the given writer.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// NewStyledWriter returns a Writer that writes to the given writer. If the style has colours, the
// Writer keeps the control sequences that Style.Paint returns, and no others. Such a sequence must
// not be divided between two calls of Write.
func NewStyledWriter(to io.Writer, style Style) *Writer { return &Writer{out: to, style: style} }

// Write implements io.Writer. If p ends within a character, Write keeps the incomplete character
// for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	b := p
	if len(w.rest) > 0 {
		b = append(w.rest, p...)
	}
	complete := len(b) - incompleteBytes(b)
	printable := PrintableBytes
	if w.style.Colour {
		printable = printableInColour
	}
	if _, err := w.out.Write(printable(b[:complete])); err != nil {
		return 0, err
	}
	w.rest = append([]byte(nil), b[complete:]...)
	return len(p), nil
}

// Flush writes the incomplete character that the last Write kept.
func (w *Writer) Flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	rest := w.rest
	w.rest = nil
	_, err := w.out.Write(PrintableBytes(rest))
	return err
}

// incompleteBytes returns the number of bytes at the end of b that belong to an incomplete
// character.
func incompleteBytes(b []byte) int {
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

// ShellQuote returns a word in the form in which a POSIX shell reads it unchanged, with quotes if
// needed.
func ShellQuote(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-:,+=@%^", c)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
