package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// thinSpace stands between two raised numbers.
const thinSpace = "\u2009"

// footnotes are sentences below a table, which its cells refer to with raised
// numbers. The same sentence has one number.
type footnotes struct{ texts []string }

// mark is the raised number of a sentence; empty for none.
func (f *footnotes) mark(text string) string {
	if text == "" {
		return ""
	}
	for i, t := range f.texts {
		if t == text {
			return raised(i + 1)
		}
	}
	f.texts = append(f.texts, text)
	return raised(len(f.texts))
}

// lines are the sentences with their numbers.
func (f *footnotes) lines() []string {
	lines := make([]string, 0, len(f.texts))
	for i, t := range f.texts {
		lines = append(lines, raised(i+1)+" "+t)
	}
	return lines
}

// text is the sentences as lines.
func (f *footnotes) text() string {
	if len(f.texts) == 0 {
		return ""
	}
	return strings.Join(f.lines(), "\n") + "\n"
}

// levels are the marks of the trial's consistency levels that are less than
// they are called.
func (f *footnotes) levels(t *record.Trial) string {
	marks := make([]string, 0, len(t.ShortOf))
	for _, line := range shortOf(t) {
		marks = append(marks, f.mark(line))
	}
	return strings.Join(marks, thinSpace)
}

// shortOf says of each of the trial's consistency levels that is less than it is
// called what it is.
func shortOf(t *record.Trial) (lines []string) {
	for _, level := range slices.Sorted(maps.Keys(t.ShortOf)) {
		lines = append(lines, fmt.Sprintf("%s reads of %s: %s.", level, t.Store, t.ShortOf[level]))
	}
	return lines
}

// raised writes a number above 0 with raised digits.
func raised(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	if n >= 10 {
		b.WriteString(raised(n / 10))
	}
	b.WriteRune(digits[n%10])
	return b.String()
}
