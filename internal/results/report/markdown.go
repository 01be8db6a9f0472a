package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
)

// markdownLayout writes a finding as Markdown.
type markdownLayout struct{ bytes.Buffer }

func (l *markdownLayout) title(name, words string) {
	l.WriteString("# " + plainMarkdown(name) + "\n\n")
	l.lead(words)
}

func (l *markdownLayout) lead(lines ...string) {
	for _, line := range lines {
		l.WriteString(paragraph(line) + "\n\n")
	}
}

func (l *markdownLayout) heading(head string) { l.WriteString("\n## " + plainMarkdown(head) + "\n") }
func (l *markdownLayout) detailed() bool      { return true }
func (l *markdownLayout) gap()                { l.blank() }
func (l *markdownLayout) blank()              { l.WriteByte('\n') }
func (l *markdownLayout) places(...string)    {}

func (l *markdownLayout) block(lines []string) {
	text := ""
	for _, line := range lines {
		text += line + "\n"
	}
	l.WriteString(fenced(text))
}

func (l *markdownLayout) facts(groups ...[]analyze.Fact) {
	lines, _ := factLines(groups...)
	l.block(lines)
}

func (l *markdownLayout) addLines(lines ...string) {
	for _, line := range lines {
		l.WriteString(paragraph(line) + "\n")
	}
}

func (l *markdownLayout) accented(line, _ string, _ text.Tone) { l.addLines(line) }

func (l *markdownLayout) table(t *Table) {
	if t.Heading != "" {
		l.heading(t.Heading)
	}
	l.gap()
	l.cells(t)
	for _, note := range t.AllNotes() {
		l.blank()
		l.addLines(note)
	}
}

func (l *markdownLayout) inset(t *Table) { l.table(t) }

func (l *markdownLayout) section(head string, lines []string) {
	if len(lines) > 0 {
		l.heading(head)
		l.gap()
		l.block(lines)
	}
}

func (l *markdownLayout) list(head string, lines []string) {
	if len(lines) > 0 && head != "" {
		l.heading(head)
		l.gap()
	}
	for i, line := range lines {
		_, _ = fmt.Fprintf(l, "%d. %s\n", i+1, paragraph(line))
	}
}

func (l *markdownLayout) cells(t *Table) {
	rule := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		if c.LeftAligned {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	for _, cells := range append([][]string{t.head(), rule}, t.Rows...) {
		for _, c := range cells {
			l.WriteString("| " + plainMarkdown(strings.TrimSpace(c)) + " ")
		}
		l.WriteString("|\n")
	}
}

// escapes escapes text so that Markdown does not interpret it as HTML, a link, an image, code,
// emphasis or a table cell. It leaves underscores unescaped, because names contain many of them,
// and they can only cause emphasis.
var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "|", `\|`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`,
	"://", `:\//`, "www.", `www\.`, "WWW.", `WWW\.`, "\n", " ")

// plainMarkdown escapes text that becomes a part of a line of Markdown.
func plainMarkdown(text string) string { return escapes.Replace(text) }

// begins matches the start of a line that Markdown would interpret as a heading, a list or a
// horizontal rule.
var begins = regexp.MustCompile(`^(\s*\d{1,9})?([#+=.)-])`)

// paragraph escapes text that becomes a separate line.
func paragraph(text string) string {
	return begins.ReplaceAllString(strings.TrimLeft(plainMarkdown(text), " \t"), `$1\$2`)
}

// fenced returns a code block whose fence is longer than any fence in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence + "\n"
}
