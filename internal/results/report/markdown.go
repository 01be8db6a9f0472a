package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Markdown writes the run as Text does, its tables as Markdown's.
func Markdown(w io.Writer, run *record.Run) error {
	var b bytes.Buffer
	all := analyze.Rows(run)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", plainMarkdown(run.Name), paragraph(progress(run)))
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n\n", paragraph(run.Failure))
	}
	if len(all) > 0 {
		var shared bytes.Buffer
		if err := facts(&shared, analyze.SharedConditions(run, all)); err != nil {
			return err
		}
		b.WriteString(fenced(shared.String()))
		put := func(head string, g *grid) error {
			fmt.Fprintf(&b, "\n## %s\n\n", plainMarkdown(head))
			err := g.markdown(&b)
			for line := range strings.Lines(g.note) { // a paragraph each
				b.WriteString("\n" + paragraph(strings.TrimSuffix(line, "\n")) + "\n")
			}
			return err
		}
		if err := tables(analyze.Tables(all), put); err != nil {
			return err
		}
		var late bytes.Buffer
		lateness(&late, all)
		if late.Len() > 0 {
			b.WriteString("\n" + fenced(late.String()))
		}
		if err := tables(analyze.WatchTables(all), put); err != nil {
			return err
		}
		for _, part := range []func(*bytes.Buffer, []record.Trial){events, limited, lostConnections} {
			var text bytes.Buffer
			part(&text, run.Trials)
			if head, lines, ok := strings.Cut(strings.TrimLeft(text.String(), "\n"), "\n"); ok {
				b.WriteString("\n## " + head + "\n\n" + fenced(lines))
			}
		}
		var why bytes.Buffer
		reasons(&why, run)
		b.WriteString(markdownLists(why.String()))
	}
	if len(run.Problems) > 0 {
		var problems bytes.Buffer
		list(&problems, "Problems of the record", run.Problems)
		b.WriteString(markdownLists(problems.String()))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdownLists makes headings of the lines between numbered lists.
func markdownLists(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch item := strings.TrimLeft(line, " "); {
		case line == "":
		case item == line:
			line = "## " + line + "\n"
		default:
			number, sentence, _ := strings.Cut(item, ". ")
			line = number + ". " + paragraph(sentence)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// markdown writes the grid as a table of Markdown.
func (g *grid) markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + plainMarkdown(strings.TrimSpace(c)) + " ")
		}
		b.WriteString("|\n")
	}
	head, rule := make([]string, 0, len(g.columns)), make([]string, 0, len(g.columns))
	for _, c := range g.columns {
		head = append(head, c.title)
		if c.left {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	line(head)
	line(rule)
	for _, row := range g.rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escapes keep a text from being what Markdown makes of it: HTML, a link, an
// image, code, emphasis, another cell. An underscore stays, for the names that
// have one; all that it makes is emphasis.
var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "|", `\|`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`,
	"://", `:\//`, "www.", `www\.`, "WWW.", `WWW\.`, "\n", " ")

// plainMarkdown is a text within a line of Markdown.
func plainMarkdown(text string) string { return escapes.Replace(text) }

// begins is what makes a heading, a list or a rule of a line.
var begins = regexp.MustCompile(`^(\s*\d{1,9})?([#+=.)-])`)

// paragraph is a text as a line of its own.
func paragraph(text string) string {
	return begins.ReplaceAllString(strings.TrimLeft(plainMarkdown(text), " \t"), `$1\$2`)
}

// fenced is a text as a block of code, whose fence is longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence + "\n"
}
