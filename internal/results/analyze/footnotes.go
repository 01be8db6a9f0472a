package analyze

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// FootnoteList are sentences below a table, which its cells refer to by numbers
// from 1. The same sentence has one number.
type FootnoteList struct{ Texts []string }

// Mark returns the number of a sentence.
func (f *FootnoteList) Mark(text string) int {
	f.Texts = AppendNew(f.Texts, text)
	return slices.Index(f.Texts, text) + 1
}

// AppendNew returns a list with something that it may have already.
func AppendNew[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// Levels returns the marks of the trial's consistency levels that are less than
// they are called.
func (f *FootnoteList) Levels(t *record.Trial) (marks []int) {
	for _, line := range shortOf(t) {
		marks = append(marks, f.Mark(line))
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

// DependentNote says why an interval is of less than it seems.
const DependentNote = "Repeats ran on one cluster and share its state, so they are not independent: the interval is of how far repeats there differ, and other clusters may differ by more."
