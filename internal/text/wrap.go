package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// ScreenWidth is the default maximum width of output for a terminal, in columns.
const ScreenWidth = 100

// Wrap breaks a line at spaces into parts of at most `width` columns. Each part after the first
// begins with `indent` spaces. A word that is wider than a part stays whole, so that it can be
// copied, and a number stays on the same line as its unit. For example, Wrap("  a long path", 9, 4)
// returns "  a long", and "path" after four spaces.
func Wrap(line string, width, indent int) []string {
	var parts []string
	for utf8.RuneCountInString(line) > width {
		end := breakAt(line, Indent(line), width)
		if end < 0 {
			break
		}
		rest := strings.TrimLeft(line[end:], " ")
		if rest == "" {
			break
		}
		parts = append(parts, strings.TrimRight(line[:end], " "))
		line = strings.Repeat(" ", indent) + rest
	}
	return append(parts, strings.TrimRight(line, " "))
}

// breakAt returns the index of the space at which to break a line: the last space after the index
// `start` with at most `width` columns before it or, if no space is that early, the first space
// after `start`. It returns -1 if no space follows `start`. It ignores spaces between a number and
// its unit.
func breakAt(line string, start, width int) int {
	at, column := -1, 0
	for i, r := range line {
		if r == ' ' && i > start && !beforeUnit(line, i) {
			if column > width && at >= 0 {
				return at
			}
			at = i
			if column > width {
				return at
			}
		}
		column++
	}
	return at
}

// units lists the words that Wrap does not separate from the number before them.
var units = []string{"%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB"}

// beforeUnit reports whether the space at the given index separates a number from its unit.
func beforeUnit(line string, space int) bool {
	if before := line[space-1]; before < '0' || before > '9' {
		return false
	}
	word, _, _ := strings.Cut(line[space+1:], " ")
	return slices.Contains(units, strings.TrimRight(word, ".,;:?)"))
}

// Indent returns the number of spaces with which a line begins.
func Indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Stack divides a table row whose cells have several lines into rows whose cells have one line.
// Stack adds empty lines to the cells that have fewer lines than the longest cell: below the text
// or, if alignBottom is true, above it.
func Stack(cells [][]string, alignBottom bool) [][]string {
	height := 0
	for _, lines := range cells {
		height = max(height, len(lines))
	}
	rows := make([][]string, height)
	for _, lines := range cells {
		padding := 0
		if alignBottom {
			padding = height - len(lines)
		}
		for i := range rows {
			line := ""
			if i >= padding && i < padding+len(lines) {
				line = lines[i-padding]
			}
			rows[i] = append(rows[i], line)
		}
	}
	return rows
}
