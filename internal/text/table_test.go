package text

import (
	"strings"
	"testing"
)

func TestAlign(t *testing.T) {
	rows := [][]string{{"name", "µs"}, {"a", "12"}, {"", "1,234"}}
	got := Align("", rows, func(i int) bool { return i == 0 })
	if want := "name     µs\na        12\n      1,234\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTableIsPrintable(t *testing.T) {
	var b strings.Builder
	if err := Table(&b, [][]string{{"store", "role"}, {"e\x1b[2J", ""}}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "store ") || strings.Contains(text, " \n") {
		t.Errorf("%q", text)
	}
}
