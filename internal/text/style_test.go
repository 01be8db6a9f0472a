package text

import (
	"strings"
	"testing"
)

func TestPaint(t *testing.T) {
	if got := (Style{}).Paint(Bad, "invalid"); got != "invalid" {
		t.Errorf("without colours it returns %q", got)
	}
	for tone, want := range map[Tone]string{Plain: "x", Good: "\x1b[32mx\x1b[0m", Doubtful: "\x1b[33mx\x1b[0m", Bad: "\x1b[31mx\x1b[0m", Faint: "\x1b[2mx\x1b[0m"} {
		if got := (Style{Colour: true}).Paint(tone, "x"); got != want {
			t.Errorf("tone %d is %q, want %q", tone, got, want)
		}
	}
}

// A writer escapes all control sequences except those that select a tone. If its style has no
// colours, it escapes these, too.
func TestStyledWriter(t *testing.T) {
	painted := (Style{Colour: true}).Paint(Good, "µs") + "\x1b[2J\x1b]0;title\x07\x1b[32"
	for style, want := range map[Style]string{
		{}:             `\x1b[32mµs\x1b[0m\x1b[2J\x1b]0;title\x07\x1b[32`,
		{Colour: true}: "\x1b[32mµs\x1b[0m" + `\x1b[2J\x1b]0;title\x07\x1b[32`,
	} {
		var b strings.Builder
		if n, err := NewStyledWriter(&b, style).Write([]byte(painted)); n != len(painted) || err != nil {
			t.Fatal(n, err)
		}
		if b.String() != want {
			t.Errorf("%+v: %q, want %q", style, b.String(), want)
		}
	}
}

func TestPaintedCellsKeepTheirWidths(t *testing.T) {
	rows := [][]string{{"trial", "p99"}, {"a", "1.20 ms"}, {"bc", "34.0 ms"}}
	left := func(i int) bool { return i == 0 }
	plain := Align("  ", rows, left)
	painted := AlignPainted("  ", rows, left, func(row, column int, words string) string {
		if row == 2 && column == 1 {
			return (Style{Colour: true}).Paint(Bad, words)
		}
		return words
	})
	if !strings.Contains(painted, "\x1b[31m34.0 ms\x1b[0m\n") || strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(painted) != plain {
		t.Errorf("%q, not the same text as %q", painted, plain)
	}
}
