package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain, ä 漢 🦊 C:\\x1b", "plain, ä 漢 🦊 C:\\x1b"},
		{"\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		{"a\nb\r\nc\td", `a; b; c\td`},
		{"2 errors occurred:\n\t* one;\n\t* two\n\n", "2 errors occurred: * one; * two"},
		{"one\rline", `one\rline`},
		{"nul\x00 del\x7f", `nul\x00 del\u007f`},
		{"\u0085 \u009b31m", `\u0085 \u009b31m`},   // C1, as UTF-8
		{"\x9b31m \xff \xc3", `\x9b31m \xff \xc3`}, // and as bytes
		{"\u202eabc\u202c \u2066x\u2069 \u200e\u061c", `\u202eabc\u202c \u2066x\u2069 \u200e\u061c`},
		{"zero\u200bwidth \ufeffbom \u2028line \u00adsoft", `zero\u200bwidth \ufeffbom \u2028line \u00adsoft`},
		{"\U000e0041tag", `\udb40\udc41tag`},
		{"no\u00a0break\u2009thin", "no\u00a0break\u2009thin"},
		{"\ufffd", "\ufffd"},
	} {
		if got := Line(c.in, MaxField); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

func TestLineIsBounded(t *testing.T) {
	for _, in := range []string{strings.Repeat("x", 50), strings.Repeat("ä", 30), strings.Repeat("\x1b", 9), strings.Repeat("🦊", 9), strings.Repeat("\u202e", 1<<20)} {
		got := Line(in, 20)
		if len(got) > 20 || !strings.HasSuffix(got, "…") || !utf8.ValidString(got) {
			t.Errorf("%.20q became %q of %d bytes", in, got, len(got))
		}
	}
	if got := Line(strings.Repeat("x", 20), 20); len(got) != 20 || strings.HasSuffix(got, "…") {
		t.Errorf("a text that fits became %q", got)
	}
}

// Every result of Line is printable and not too long, and a second call of Line does not change it.
func TestLineProperties(t *testing.T) {
	if err := quick.Check(func(b []byte) bool {
		s := Line(string(b), 40)
		return Printable(s) && len(s) <= 40 && Line(s, 40) == s
	}, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestLinesKeepsLayout(t *testing.T) {
	if got, want := Lines("a\tb\n\x1b[2Jc\r\n"), "a\tb\n\\x1b[2Jc\\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	plain := []byte("a\tb\nä")
	if got := PrintableBytes(plain); &got[0] != &plain[0] {
		t.Error("plain text was copied")
	}
}

// Printable JSON has the same meaning as the original, because the escape sequences of U+007F and
// higher are valid in JSON.
func TestJSONMeansTheSame(t *testing.T) {
	if err := quick.Check(func(s string) bool {
		s += "\u0085\u202e\x7f\U000e0041🦊"
		b, err := json.Marshal(s)
		if err != nil {
			return false
		}
		var before, after string
		shown := PrintableBytes(b)
		return json.Unmarshal(b, &before) == nil && json.Unmarshal(shown, &after) == nil && before == after && Printable(string(shown))
	}, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

// The output does not depend on how the text is divided into writes.
func TestWriterPieces(t *testing.T) {
	text := "ä漢🦊\x1b[31m\u202e\n\xff\xf0\x9f"
	want := Lines(text)
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		w := NewWriter(&b)
		for i := 0; i < len(text); i += size {
			piece := text[i:min(i+size, len(text))]
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("Write returned %d, error %v", n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, b.String(), want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestWriterPassesErrorsOn(t *testing.T) {
	if _, err := NewWriter(broken{}).Write([]byte("x")); err == nil {
		t.Error("Write returned no error")
	}
}

func TestFields(t *testing.T) {
	type word string
	type inner struct {
		Text  string
		Word  word
		Times [2]string
	}
	type outer struct {
		inner
		Inner *inner
		None  *inner
		List  []inner
		Map   map[string]inner
		Any   any
		When  time.Time
		Count int
	}
	const bad, good = "a\x1b\nb", `a\x1b; b`
	now := time.Now()
	of := func(s string) inner { return inner{Text: s, Word: word(s), Times: [2]string{s, s}} }
	filled := func(s string) outer {
		in := of(s)
		return outer{inner: of(s), Inner: &in, List: []inner{of(s)}, Map: map[string]inner{s: of(s), "plain": of(s)},
			Any: map[string]any{s: []any{s, 1.0, nil, map[string]any{"k": s}}}, When: now, Count: 3}
	}
	got := filled(bad)
	SanitizeFields(&got)
	if diff := cmp.Diff(filled(good), got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Error(diff)
	}
	same := map[string]string{"a\x1b": "2", `a\x1b`: "1", "b\x00": "3"}
	SanitizeFields(&same)
	if diff := cmp.Diff(map[string]string{`a\x1b`: "1", `b\x00`: "3"}, same); diff != "" {
		t.Error(diff)
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;x\x07", "\u202e\xff\x9b", "🦊\U000e0041\u0085\n"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 3 + most&0xfff
		line := Line(s, most)
		if !Printable(line) || len(line) > most {
			t.Errorf("%q became %q", s, line)
		}
		lines := Lines(s)
		for part := range strings.SplitSeq(strings.ReplaceAll(lines, "\t", " "), "\n") {
			if !Printable(part) {
				t.Errorf("%q became %q, which contains an unprintable line", s, lines)
			}
		}
	})
}

// ShellQuote adds quotes only to words that a shell would change.
func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{"": "''", "app/bench": "app/bench", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		if got := ShellQuote(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}
