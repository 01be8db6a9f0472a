package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line          string
		width, indent int
		want          []string
	}{
		{"", 10, 2, []string{""}},
		{"short", 10, 2, []string{"short"}},
		{"  a long path", 9, 4, []string{"  a long", "    path"}},
		{"exactly ten", 11, 2, []string{"exactly ten"}},
		{"one two three", 7, 2, []string{"one two", "  three"}},
		{"/a/very/long/path and more", 8, 2, []string{"/a/very/long/path", "  and", "  more"}},
		{"p50 1.2 µs, p99 3.4 µs", 12, 0, []string{"p50 1.2 µs,", "p99 3.4 µs"}},
		{"  unbreakable", 5, 2, []string{"  unbreakable"}},
		{"it is 16 % too low", 9, 0, []string{"it is", "16 % too", "low"}},
		{"after 3 ms, 4 s.", 8, 0, []string{"after", "3 ms,", "4 s."}},
	} {
		if got := Wrap(c.line, c.width, c.indent); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.line, c.width, c.indent, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("  the quick  brown fox", 10, 4)
	f.Fuzz(func(t *testing.T, line string, width, indent int) {
		if width < 1 || width > 200 || indent < 0 || indent >= width || strings.ContainsAny(line, "\n\t") {
			t.Skip()
		}
		parts := Wrap(line, width, indent)
		if got, want := strings.Fields(strings.Join(parts, " ")), strings.Fields(line); !slices.Equal(got, want) {
			t.Fatalf("Wrap lost words: %q, want %q", got, want)
		}
		for _, part := range parts {
			if words := strings.Fields(part); utf8.RuneCountInString(part) > width && len(words) > 2 {
				t.Fatalf("%q is wider than %d columns", part, width)
			}
		}
	})
}

func TestStack(t *testing.T) {
	cells := [][]string{{"a", "b"}, {"c"}, {}}
	if got, want := Stack(cells, false), [][]string{{"a", "c", ""}, {"b", "", ""}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Stack aligns the tops as %q, want %q", got, want)
	}
	if got, want := Stack(cells, true), [][]string{{"a", "", ""}, {"b", "c", ""}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Stack aligns the bottoms as %q, want %q", got, want)
	}
}
