package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
)

// textLayout lays a finding out for a terminal.
type textLayout struct{ bytes.Buffer }

func (l *textLayout) title(name, words string) { l.say(name + ": " + words) }
func (l *textLayout) lead(lines ...string)     { l.say(lines...) }
func (l *textLayout) heading(head string)      { l.say("", head) }
func (l *textLayout) block(lines []string)     { l.say(lines...) }
func (l *textLayout) gap()                     {}
func (l *textLayout) blank()                   { l.WriteByte('\n') }
func (l *textLayout) cells(t *Table)           { l.WriteString(t.text()) }

func (l *textLayout) facts(groups ...[]analyze.Fact) { l.say(factLines(groups...)...) }

func (l *textLayout) say(lines ...string) {
	for _, line := range lines {
		l.WriteString(line + "\n")
	}
}

func (l *textLayout) table(t *Table) {
	l.heading(t.Heading)
	l.cells(t)
	l.say(t.Notes...)
}

func (l *textLayout) inset(t *Table) {
	const indent = "  "
	inner := *t
	inner.indent = indent
	l.blank()
	if t.Heading != "" {
		l.say(t.Heading)
	}
	l.cells(&inner)
	for _, note := range t.Notes {
		l.say(indent + note)
	}
}

func (l *textLayout) section(head string, lines []string) {
	if len(lines) > 0 {
		l.heading(head)
		l.say(lines...)
	}
}

func (l *textLayout) list(head string, lines []string) {
	if len(lines) > 0 && head != "" {
		l.heading(head)
	}
	for i, line := range lines {
		_, _ = fmt.Fprintf(l, "%3d. %s\n", i+1, line)
	}
}

func (l *textLayout) places(lines ...string) {
	if len(lines) > 0 {
		l.blank()
		l.say(lines...)
	}
}

// factLines are facts with what they are about before them, and an empty line between
// groups of them.
func factLines(groups ...[]analyze.Fact) []string {
	t := Table{indent: "  ", Columns: []analyze.Column{{Left: true}, {Left: true}}}
	for i, all := range groups {
		if i > 0 {
			t.add("", "")
		}
		for _, f := range all {
			t.add(f.What, f.Text)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(t.aligned(t.Rows), "\n"), "\n")
}
