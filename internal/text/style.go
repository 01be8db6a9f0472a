package text

// Tone is the meaning of a part of a text, which a terminal shows as a colour.
type Tone uint8

// The values of Tone.
const (
	Plain    Tone = iota
	Good          // green
	Doubtful      // yellow
	Bad           // red
	Faint         // less visible than plain text
)

// colours contains the control sequence that selects each tone. The sequence of Plain ends a tone.
var colours = [...]string{Plain: "\x1b[0m", Good: "\x1b[32m", Doubtful: "\x1b[33m", Bad: "\x1b[31m", Faint: "\x1b[2m"}

// Style determines how tones are shown. The zero Style shows all text plain, for output that is not
// a terminal.
type Style struct{ Colour bool }

// Paint returns words in a tone. It does not change the width of the words on the screen.
func (s Style) Paint(t Tone, words string) string {
	if !s.Colour || t == Plain || words == "" {
		return words
	}
	return colours[t] + words + colours[Plain]
}

// colourAt returns the length of the control sequence of a tone at the start of b, or 0 if there is
// none.
func colourAt(b []byte) int {
	if b[0] != '\x1b' {
		return 0
	}
	for _, c := range colours {
		if len(b) >= len(c) && string(b[:len(c)]) == c {
			return len(c)
		}
	}
	return 0
}

// printableInColour does the same as PrintableBytes, but keeps the control sequences of tones.
func printableInColour(b []byte) (out []byte) {
	from := 0
	for i := 0; i < len(b); i++ {
		if n := colourAt(b[i:]); n > 0 {
			out = append(append(out, PrintableBytes(b[from:i])...), b[i:i+n]...)
			i += n - 1
			from = i + 1
		}
	}
	return append(out, PrintableBytes(b[from:])...)
}
