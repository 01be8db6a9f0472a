package analyze

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// FootnoteList holds the footnotes below a table. The first footnote has the number 1. Equal
// sentences have the same number.
type FootnoteList struct{ Texts []string }

// Mark returns the number of a sentence. It adds the sentence if the list does not contain it.
func (f *FootnoteList) Mark(text string) int {
	f.Texts = AppendNew(f.Texts, text)
	return slices.Index(f.Texts, text) + 1
}

// AppendNew appends a value unless the list already contains it.
func AppendNew[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// MarkWeakerReads returns the footnote numbers for the consistency levels of a trial that guarantee
// less than their names guarantee.
func (f *FootnoteList) MarkWeakerReads(t *record.Trial) (marks []int) {
	for _, line := range weakerReads(t) {
		marks = append(marks, f.Mark(line))
	}
	return marks
}

// weakerReads describes the consistency levels of a trial that guarantee less than their names
// guarantee.
func weakerReads(t *record.Trial) (lines []string) {
	for _, level := range slices.Sorted(maps.Keys(t.WeakerReads)) {
		lines = append(lines, fmt.Sprintf("%s reads of %s: %s.", level, t.Store, t.WeakerReads[level]))
	}
	return lines
}

// DependentNote is the warning that an interval covers only one cluster.
const DependentNote = "The repeats ran on one cluster and share its state, so they are not independent. The interval covers only the differences between repeats on this cluster; results on other clusters may differ by more."
