package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
)

// textLayout formats a finding for a terminal. The text is at most text.ScreenWidth columns wide
// and omits details. If wide is set, the text includes all details, and lines are not wrapped.
type textLayout struct {
	bytes.Buffer
	wide  bool
	style text.Style
}

func (l *textLayout) detailed() bool           { return l.wide }
func (l *textLayout) title(name, words string) { l.addLines(name + ": " + words) }
func (l *textLayout) lead(lines ...string)     { l.addLines(lines...) }
func (l *textLayout) heading(head string)      { l.addLines("", head) }
func (l *textLayout) block(lines []string)     { l.addLines(lines...) }
func (l *textLayout) gap()                     {}
func (l *textLayout) blank()                   { l.WriteByte('\n') }

func (l *textLayout) cells(t *Table) { l.fitted(t.fit(l.wide)) }

// fitted writes a table without its heading, and returns the lines to write below it.
func (l *textLayout) fitted(f *fitted) (notes []string) {
	if len(f.commonConditions) > 0 {
		l.addLines(f.indent + strings.Join(f.commonConditions, ", "))
	}
	l.WriteString(f.text(l.style))
	return f.notes()
}

func (l *textLayout) facts(groups ...[]analyze.Fact) {
	if !l.wide {
		for i := range groups {
			groups[i] = briefFacts(groups[i])
		}
	}
	lines, indent := factLines(groups...)
	for _, line := range lines {
		l.wrapped(line, indent)
	}
}

// briefFacts returns the facts that belong in text that is not wide.
func briefFacts(all []analyze.Fact) (brief []analyze.Fact) {
	for _, f := range all {
		if !f.Wide {
			brief = append(brief, f)
		}
	}
	return brief
}

// addLines writes lines. It wraps long lines. The continuation of a line is indented by two columns
// more than the line.
func (l *textLayout) addLines(lines ...string) {
	for _, line := range lines {
		l.wrapped(line, text.Indent(line)+2)
	}
}

// wrapped writes a line, or several lines that are already aligned. It wraps long lines, and
// indents their continuations by the given number of columns.
func (l *textLayout) wrapped(line string, indent int) {
	for whole := range strings.SplitSeq(line, "\n") {
		parts := []string{whole}
		if !l.wide {
			parts = text.Wrap(whole, text.ScreenWidth, indent)
		}
		l.WriteString(strings.Join(parts, "\n") + "\n")
	}
}

func (l *textLayout) accented(line, word string, tone text.Tone) {
	plain := textLayout{wide: l.wide}
	plain.addLines(line)
	l.WriteString(strings.Replace(plain.String(), word, l.style.Paint(tone, word), 1))
}

func (l *textLayout) table(t *Table) {
	f := t.fit(l.wide)
	l.heading(f.heading())
	l.addLines(l.fitted(f)...)
}

func (l *textLayout) inset(t *Table) {
	const indent = "  "
	inner := *t
	inner.indent = indent
	l.blank()
	f := inner.fit(l.wide)
	if head := f.heading(); head != "" {
		l.addLines(head)
	}
	for _, note := range l.fitted(f) {
		l.addLines(indent + note)
	}
}

func (l *textLayout) section(head string, lines []string) {
	if len(lines) > 0 {
		l.heading(head)
		l.addLines(lines...)
	}
}

func (l *textLayout) list(head string, lines []string) {
	if len(lines) > 0 && head != "" {
		l.heading(head)
	}
	for i, line := range lines {
		l.wrapped(fmt.Sprintf("%3d. %s", i+1, line), len("  1. "))
	}
}

func (l *textLayout) places(lines ...string) {
	if len(lines) > 0 {
		l.blank()
		l.addLines(lines...)
	}
}

// factLines returns a line for each fact, with the subject followed by the text, and an empty line
// between groups. column is the screen column at which the texts begin.
func factLines(groups ...[]analyze.Fact) (lines []string, column int) {
	t := Table{indent: "  ", Columns: []analyze.Column{{LeftAligned: true}, {LeftAligned: true}}}
	for i, all := range groups {
		if i > 0 {
			t.add("", "")
		}
		for _, f := range all {
			t.add(f.Label, f.Text)
			column = max(column, utf8.RuneCountInString(t.indent+f.Label)+2)
		}
	}
	if len(t.Rows) == 0 {
		return nil, 0
	}
	return strings.Split(strings.TrimSuffix(t.aligned(t.Rows), "\n"), "\n"), column
}
