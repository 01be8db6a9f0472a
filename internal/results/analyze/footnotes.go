package analyze

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// footnotes are sentences below a table, which its cells refer to by numbers
// from 1. The same sentence has one number.
type footnotes struct{ texts []string }

// mark is the number of a sentence.
func (f *footnotes) mark(text string) int {
	if i := slices.Index(f.texts, text); i >= 0 {
		return i + 1
	}
	f.texts = append(f.texts, text)
	return len(f.texts)
}

// levels are the marks of the trial's consistency levels that are less than
// they are called.
func (f *footnotes) levels(t *record.Trial) (marks []int) {
	for _, line := range shortOf(t) {
		marks = append(marks, f.mark(line))
	}
	return marks
}

// shortOf says of each of the trial's consistency levels that is less than it is
// called what it is.
func shortOf(t *record.Trial) (lines []string) {
	for _, level := range slices.Sorted(maps.Keys(t.ShortOf)) {
		lines = append(lines, fmt.Sprintf("%s reads of %s: %s.", level, t.Store, t.ShortOf[level]))
	}
	return lines
}
