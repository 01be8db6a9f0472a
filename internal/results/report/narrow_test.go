package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
)

// randomTable returns a random table with a name in the first column, and figures and conditions in
// the other columns.
func randomTable(random *rand.Rand) *Table {
	words := func(n int) string {
		all := make([]string, 1+random.IntN(n))
		for i := range all {
			all[i] = strings.Repeat("x", 1+random.IntN(9))
		}
		return strings.Join(all, " ")
	}
	t := &Table{Columns: []analyze.Column{{Title: "trial", LeftAligned: true}}}
	for i := range 1 + random.IntN(16) {
		t.Columns = append(t.Columns, analyze.Column{Title: fmt.Sprintf("%s %d", words(2), i), Condition: random.IntN(3) == 0, Wide: random.IntN(8) == 0, Drop: 1 + random.IntN(9)})
	}
	for i := range random.IntN(5) {
		row := []string{fmt.Sprintf("trial %d", i)}
		for _, c := range t.Columns[1:] {
			if c.Condition {
				row = append(row, words(6))
			} else {
				row = append(row, fmt.Sprintf("%d.%02d ms", random.IntN(999), i))
			}
		}
		t.add(row...)
	}
	return t
}

// TestNarrowTablesFitAndNameHiddenColumns checks that a table of short words fits the screen. Each
// column must be visible, be a condition above the table, or be listed below the table. The output
// must contain all words of the visible columns.
func TestNarrowTablesFitAndNameHiddenColumns(t *testing.T) {
	settle.SkipUnderRace(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		table := randomTable(random)
		f := table.fit(false)
		shown := f.text(text.Style{})
		for line := range strings.Lines(shown) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > text.ScreenWidth {
				t.Fatalf("a line has %d columns:\n%s", n, shown)
			}
		}
		if n := len(f.visible) + len(f.commonConditions) + len(f.hidden); n != len(table.Columns) {
			t.Fatalf("%d of %d columns are visible, shared or hidden:\n%s", n, len(table.Columns), shown)
		}
		notes := strings.Join(f.notes(), "\n")
		for _, column := range f.hidden {
			if !strings.Contains(notes, table.Columns[column].Title) {
				t.Fatalf("the column %q is hidden, but the notes do not name it: %q", table.Columns[column].Title, notes)
			}
		}
		printed := strings.Fields(shown)
		for _, row := range table.Rows {
			for _, column := range f.visible {
				for _, word := range strings.Fields(row[column]) {
					if !slices.Contains(printed, word) {
						t.Fatalf("%q is not printed in\n%s", word, shown)
					}
				}
			}
		}
	}
}

// TestWideTablesHideNothing checks that a wide table shows every column.
func TestWideTablesHideNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		table := randomTable(random)
		if f := table.fit(true); len(f.visible) != len(table.Columns) || len(f.hidden)+len(f.commonConditions) > 0 {
			t.Fatalf("%d of %d columns are visible", len(f.visible), len(table.Columns))
		}
	}
}

// TestFootnotesOfSharedConditionsStay checks that a footnote is printed even if only the line above
// the table refers to it.
func TestFootnotesOfSharedConditionsStay(t *testing.T) {
	table := &Table{Columns: []analyze.Column{{Title: "trial", LeftAligned: true}, {Title: "consistency", LeftAligned: true, Condition: true}},
		Rows: [][]string{{"a", "linearizable¹"}, {"b", "linearizable¹"}}, Footnotes: []string{"Weaker than its name."}}
	f := table.fit(false)
	if notes := f.notes(); len(f.commonConditions) != 1 || !slices.Contains(notes, "¹ Weaker than its name.") {
		t.Errorf("the shared conditions are %q, and the notes are %q", f.commonConditions, notes)
	}
}

// BenchmarkFit measures how long it takes to fit a table of 10,000 trials to the screen.
func BenchmarkFit(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	table := randomTable(random)
	for len(table.Rows) == 0 || len(table.Columns) < 12 {
		table = randomTable(random)
	}
	row := table.Rows[0]
	table.Rows = nil
	for i := range 10_000 {
		next := slices.Clone(row)
		next[0] = fmt.Sprintf("trial %d", i)
		table.add(next...)
	}
	for b.Loop() {
		_ = table.fit(false).text(text.Style{})
	}
}
