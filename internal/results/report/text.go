// Package report turns a record into what people read: text for the terminal
// and one JSON object for programs. It sees nothing but the record.
package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// layout is how a kind of output has the parts of a report.
type layout struct {
	heading  func(head string) string  // of a part, without its end
	gap      string                    // before a table or a block that is no paragraph's
	table    func(*grid) string        // without the note below it
	note     func(lines string) string // of a table
	sentence func(text string) string  // as a line of its own
	block    func(lines string) string // that are aligned
	section  func(text string) string  // a heading and lines below it; empty for nothing
	lists    func(text string) string  // numbered lists under headings
}

func same(text string) string { return text }

var textLayout = layout{
	heading: func(head string) string { return "\n" + head }, table: (*grid).text, note: same, sentence: same, block: same, section: same, lists: same,
}

var markdownLayout = layout{
	gap: "\n", heading: func(head string) string { return "\n## " + plainMarkdown(head) }, table: (*grid).markdown, note: paragraphs,
	sentence: paragraph, block: fenced, section: markdownSection, lists: markdownLists,
}

// Text writes a run's table with its conditions above and the verdicts' reasons
// below. dir is the run directory's path; empty for none, and for runs that were
// joined, which have their own.
func Text(w io.Writer, run *record.Run, dir string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", run.Name, progress(run))
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n", run.Failure)
	}
	for _, line := range Repeated(run) {
		b.WriteString(line + "\n")
	}
	if f := analyze.CapacitiesOf(run); f != nil {
		b.WriteString(capacitiesText(f, &textLayout) + "\n")
	}
	if b.WriteString(parts(run, &textLayout)); dir != "" || len(run.Parts) > 0 {
		b.WriteString("\n")
	}
	if dir != "" {
		fmt.Fprintf(&b, "Run directory: %s\n", text.Line(dir, text.OfOutput))
	}
	for _, p := range run.Parts {
		fmt.Fprintf(&b, "Run directory of %s: %s\n", p.Name, text.Line(p.Dir, text.OfOutput))
	}
	_, err := b.WriteTo(w)
	return err
}

// Markdown writes the run as Text does, its tables as Markdown's.
func Markdown(w io.Writer, run *record.Run) error {
	text := fmt.Sprintf("# %s\n\n%s\n\n", plainMarkdown(run.Name), paragraph(progress(run)))
	if run.Failure != "" {
		text += paragraph(run.Failure) + "\n\n"
	}
	for _, line := range Repeated(run) {
		text += paragraph(line) + "\n\n"
	}
	if f := analyze.CapacitiesOf(run); f != nil {
		text += capacitiesText(f, &markdownLayout) + "\n"
	}
	_, err := io.WriteString(w, text+parts(run, &markdownLayout))
	return err
}

// parts are all of a run's report but its first lines.
func parts(run *record.Run, as *layout) string {
	var b bytes.Buffer
	tables := func(all []analyze.Table) {
		for i := range all {
			g := gridOf(&all[i])
			b.WriteString(as.heading(heading(&all[i])) + "\n" + as.gap + as.table(g) + as.note(g.note))
		}
	}
	if all := analyze.Rows(run); len(all) > 0 {
		b.WriteString(as.block(facts(analyze.SharedConditions(run, all))))
		tables(analyze.Tables(all))
		if late := lateness(all); late != "" {
			b.WriteString(as.gap + as.block(late))
		}
		tables(analyze.BrokenTables(all))
		tables(analyze.WatchTables(all))
		tables(analyze.CallsTables(run))
		tables(analyze.WorkersTables(run))
		tables(analyze.HostsTables(run))
		if run.Capacity == nil && run.CapacityOver == nil { // a capacity's are said with it
			b.WriteString(as.lists(ladders(all)))
		}
		b.WriteString(as.section(events(all)) + as.section(limited(analyze.InOrder(run))) + as.section(unevenlyServed(all)) + as.section(answers(run.Trials)) + as.section(lostConnections(run.Trials)))
		b.WriteString(as.lists(reasons(run)))
	}
	b.WriteString(as.lists(list("Problems of the record", run.Problems)))
	return b.String()
}

// progress says how far the run came.
func progress(run *record.Run) string {
	finished := 0
	for i := range run.Trials {
		if analyze.Measured(&run.Trials[i]) {
			finished++
		}
	}
	trials := text.Plural(uint64(finished), "trial")
	if run.Planned > finished {
		trials = fmt.Sprintf("%d of %d trials", finished, run.Planned)
	}
	return fmt.Sprintf("%s, %s", run.State, trials)
}

// lateness is how late the open loops sent.
func lateness(all []*analyze.Row) (lines string) {
	for _, r := range all {
		for _, t := range r.Done {
			if l := t.Lateness; l != nil {
				lines += fmt.Sprintf("%s: sent late by p50 %s, p99 %s, p99.9 %s\n", analyze.Label(t),
					text.Figure(l.At(50)), text.Figure(l.At(99)), text.Figure(l.At(99.9)))
			}
		}
	}
	return lines
}

// markdownSection has its first line as a heading, and the others as they are.
func markdownSection(text string) string {
	head, lines, ok := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if !ok {
		return ""
	}
	return "\n## " + head + "\n\n" + fenced(lines)
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

// markdown is the grid as a table of Markdown.
func (g *grid) markdown() string {
	rule := make([]string, 0, len(g.columns))
	for _, c := range g.columns {
		if c.Left {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	var b strings.Builder
	for _, cells := range append([][]string{g.head(), rule}, g.rows...) {
		for _, c := range cells {
			b.WriteString("| " + plainMarkdown(strings.TrimSpace(c)) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// paragraphs are lines as a paragraph each.
func paragraphs(lines string) (text string) {
	for line := range strings.Lines(lines) {
		text += "\n" + paragraph(strings.TrimSuffix(line, "\n")) + "\n"
	}
	return text
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
