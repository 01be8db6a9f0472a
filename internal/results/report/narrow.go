package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Widths, in screen columns, for a table that does not fit the screen. Names are folded to the
// width foldedName before the table omits columns, and to shortestName after that. The titles of
// columns are folded to stackedTitle.
const (
	foldedName   = 28
	shortestName = 12
	stackedTitle = 10
)

// continued is the indent of the second and further lines of a folded cell in the first column.
const continued = 2

// fitted is a table as a terminal shows it, with some columns omitted or folded.
type fitted struct {
	*Table
	visible          []int    // indices of the visible columns
	commonConditions []string // conditions that all rows share, shown above the table
	hidden           []int    // indices of the omitted columns
	widths           []cellWidths
	maxNameWidth     int // maximum width of names, which are folded; 0 for no limit
	maxTitleWidth    int // maximum width of titles, which are folded, unless the cells are wider; 0 for no limit
}

// fit returns the table as a terminal shows it. If wide is set, the result contains all columns.
// Otherwise, it contains only the columns that fit text.ScreenWidth.
func (t *Table) fit(wide bool) *fitted {
	f := &fitted{Table: t}
	for i := range t.Columns {
		if wide || !t.Columns[i].Wide {
			f.visible = append(f.visible, i)
		} else {
			f.hidden = append(f.hidden, i)
		}
	}
	if wide {
		return f
	}
	f.visible, f.widths = slices.DeleteFunc(f.visible, f.moveAbove), t.cellWidths()
	if f.width() <= text.ScreenWidth {
		return f
	}
	f.maxTitleWidth = stackedTitle
	f.fold(foldedName)
	if f.width() > text.ScreenWidth {
		f.maxTitleWidth = 1
	}
	for f.width() > text.ScreenWidth && f.drop() {
	}
	f.fold(shortestName)
	return f
}

// heading returns the heading of the table. The heading explains only visible columns.
func (f *fitted) heading() string {
	if slices.ContainsFunc(f.visible, func(column int) bool { return f.Columns[column].Title == gapColumn }) {
		return f.Heading
	}
	return strings.TrimSuffix(f.Heading, gapMeaning)
}

// moveAbove handles a column with a condition that all rows share: it adds the condition to the
// line above the table and returns true, so that the caller removes the column. For other columns,
// it returns false.
func (f *fitted) moveAbove(column int) bool {
	if !f.Columns[column].Condition || len(f.Rows) == 0 {
		return false
	}
	first := f.Rows[0][column]
	for _, row := range f.Rows {
		if row[column] != first && row[column] != "" { // an empty cell means the value of the cell above it
			return false
		}
	}
	if first != text.Dash {
		f.commonConditions = append(f.commonConditions, f.Columns[column].Title+" "+first)
	}
	return true
}

// drop omits the visible column with the highest value of the field Drop. If several columns have
// this value, drop omits the last of them. It reports whether it omitted a column.
func (f *fitted) drop() bool {
	at := 0
	for i, column := range f.visible {
		if f.Columns[column].Drop >= f.Columns[f.visible[at]].Drop {
			at = i
		}
	}
	if len(f.visible) == 0 || f.Columns[f.visible[at]].Drop == 0 {
		return false
	}
	f.hidden = append(f.hidden, f.visible[at])
	f.visible = slices.Delete(f.visible, at, at+1)
	return true
}

// fold folds names if the table is wider than the screen. It tries smaller and smaller widths for
// the folded names until the table fits the screen. It never tries a width below the parameter
// `minimum`.
func (f *fitted) fold(minimum int) {
	if f.width() <= text.ScreenWidth {
		return
	}
	for f.maxNameWidth = text.ScreenWidth; f.maxNameWidth > minimum && f.width() > text.ScreenWidth; {
		f.maxNameWidth--
	}
}

// cellWidth returns the width that the cells of a column need, without the title.
func (f *fitted) cellWidth(column int) int {
	w := f.widths[column]
	if f.folds(column) {
		return min(w.cell, max(w.word, f.maxNameWidth))
	}
	return w.cell
}

// folds reports whether the cells of a column can be folded.
func (f *fitted) folds(column int) bool {
	c := &f.Columns[column]
	return f.maxNameWidth > 0 && (c.LeftAligned || c.Condition)
}

// title returns the lines of a column's title.
func (f *fitted) title(column int) []string {
	if f.maxTitleWidth == 0 {
		return []string{f.Columns[column].Title}
	}
	return text.Wrap(f.Columns[column].Title, max(f.maxTitleWidth, f.cellWidth(column)), f.indentOf(column))
}

// cell returns the lines of a cell.
func (f *fitted) cell(column int, words string) []string {
	if !f.folds(column) {
		return []string{words}
	}
	return text.Wrap(words, f.maxNameWidth, f.indentOf(column))
}

// indentOf returns the indent of the second and further lines of a column's folded cells. The first
// column needs an indent: without it, a part of a name could begin a line and look like output of
// the program.
func (f *fitted) indentOf(column int) int {
	if column == f.visible[0] {
		return continued
	}
	return 0
}

// width returns the width of the table in columns.
func (f *fitted) width() int {
	sum := utf8.RuneCountInString(f.indent)
	for i, column := range f.visible {
		if i > 0 {
			sum += 2
		}
		sum += max(f.cellWidth(column), widest(f.title(column)))
	}
	return sum
}

// cellWidths holds two widths of a column: the width of the widest cell, and the width of the
// widest word, which is the smallest width to which the cells can be folded.
type cellWidths struct{ cell, word int }

func (t *Table) cellWidths() []cellWidths {
	all := make([]cellWidths, len(t.Columns))
	for _, row := range t.Rows {
		for column, words := range row {
			w := &all[column]
			w.cell = max(w.cell, utf8.RuneCountInString(words))
			if c := &t.Columns[column]; c.LeftAligned || c.Condition {
				w.word = max(w.word, widest(text.Wrap(words, 1, continued)))
			}
		}
	}
	return all
}

// widest returns the width of the widest line.
func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	return width
}

// tone returns the tone of a cell.
func (t *Table) tone(row, column int) text.Tone {
	if row < 0 || row >= len(t.tones) || column >= len(t.tones[row]) {
		return text.Plain
	}
	return t.tones[row][column]
}

// text returns the aligned titles and rows in the given style.
func (f *fitted) text(style text.Style) string {
	var titles [][]string
	for _, column := range f.visible {
		titles = append(titles, f.title(column))
	}
	lines := text.Stack(titles, true)
	rows := slices.Repeat([]int{-1}, len(lines)) // the row to which each line belongs; -1 for titles
	for i, row := range f.Rows {
		var cells [][]string
		for _, column := range f.visible {
			cells = append(cells, f.cell(column, row[column]))
		}
		for _, line := range text.Stack(cells, false) {
			lines, rows = append(lines, line), append(rows, i)
		}
	}
	return text.AlignPainted(f.indent, lines, func(i int) bool { return f.Columns[f.visible[i]].LeftAligned },
		func(line, i int, words string) string { return style.Paint(f.tone(rows[line], f.visible[i]), words) })
}

// notes returns the lines below the table: the notes that apply to visible cells, and a list of the
// omitted columns.
func (f *fitted) notes() (lines []string) {
	var visible strings.Builder
	visible.WriteString(strings.Join(f.commonConditions, " "))
	members := false
	for _, column := range f.visible {
		members = members || f.Columns[column].SumsMembers
		for _, row := range f.Rows {
			visible.WriteString(row[column] + " ")
		}
	}
	shown := visible.String()
	for i, words := range f.Footnotes {
		if strings.Contains(shown, text.Superscript(i+1)) {
			lines = append(lines, footnote(i, words))
		}
	}
	if f.HasDoubted && strings.Contains(shown, doubtMark) {
		lines = append(lines, doubtNote)
	}
	if f.SumsMembers && members {
		lines = append(lines, membersNote)
	}
	lines = append(lines, f.Notes...)
	var hidden []string
	slices.Sort(f.hidden)
	for _, column := range f.hidden {
		hidden = analyze.AppendNew(hidden, f.Columns[column].Title)
	}
	if len(hidden) > 0 {
		lines = append(lines, "--wide adds: "+strings.Join(hidden, ", "))
	}
	return lines
}
