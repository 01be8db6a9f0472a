package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
)

// Compare writes a run beside its baseline: both runs' conditions, what
// differs between them beside the load, and a row for each trial of both.
func Compare(w io.Writer, c *analyze.Comparison) error {
	return compare(w, c, layout{"", (*grid).write, func(text string) string { return text }})
}

// CompareMarkdown writes the same as Markdown.
func CompareMarkdown(w io.Writer, c *analyze.Comparison) error {
	return compare(w, c, layout{"## ", (*grid).markdown, paragraph})
}

// layout is how a kind of output has headings, tables and sentences.
type layout struct {
	heading  string
	table    func(*grid, io.Writer) error
	sentence func(string) string
}

func compare(w io.Writer, c *analyze.Comparison, as layout) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s%s\n\n", as.heading, as.sentence(comparisonHead(c)))
	if len(c.Pairs) == 0 {
		b.WriteString("No trial has figures on both sides.\n")
		for _, line := range leftOut(c) {
			fmt.Fprintf(&b, "%s\n", as.sentence(line))
		}
		_, err := w.Write(b.Bytes())
		return err
	}
	if err := as.table(sides(c), &b); err != nil {
		return err
	}
	b.WriteString("\n")
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "%s\n", as.sentence(d))
	}
	if len(c.Differences) > 0 {
		b.WriteString("\n")
	}
	t := c.Table()
	if err := as.table(gridOf(&t), &b); err != nil {
		return err
	}
	b.WriteString("\n")
	for i, text := range t.Footnotes {
		fmt.Fprintf(&b, "%s\n", as.sentence(footnote(i, text)))
	}
	for _, line := range compareNotes(c) {
		fmt.Fprintf(&b, "%s\n", as.sentence(line))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func comparisonHead(c *analyze.Comparison) string {
	if c.Run == c.Base {
		return "Compared with the baseline in the same run"
	}
	return fmt.Sprintf("Compared with the baseline %s of %s", c.Base.Name, c.Base.Started.UTC().Format(time.RFC3339))
}

// sides are the conditions of the run and of its baseline, side by side.
func sides(c *analyze.Comparison) *grid {
	g := &grid{indent: "  ", columns: []column{{"", true}, {"this run", true}, {"baseline", true}}}
	for _, s := range c.Sides() {
		if s.Base == s.Now {
			s.Base = "the same"
		}
		g.add(s.What, s.Now, s.Base)
	}
	return g
}

// percentOf is a change in percent with its sign; +0.0 % is no change.
func percentOf(c analyze.Change) string {
	if !c.Known {
		return readable.Dash
	}
	return readable.Change(c.Share)
}

// intervalOf is the interval of a change, or a dash where there is none.
func intervalOf(c analyze.Change) string {
	if !c.Known || !c.Interval {
		return readable.Dash
	}
	return readable.Change(c.Low) + " to " + readable.Change(c.High)
}

func compareNotes(c *analyze.Comparison) []string {
	var lines []string
	time := "p90 is of the service time"
	if c.Open() {
		time += ", and of the response time where the clients' column has a rate"
	}
	lines = append(lines, "QPS and p90 are medians of the repeats (of an even number, the slower of the middle two); "+time+".")
	if made, byChance := c.Tests(); made > 0 {
		text := "The interval holds the changes that a Mann-Whitney test at 5 % does not refute; one that holds 0 shows no difference."
		if c.Run != c.Base {
			text += " The runs were made one after the other: what changed on the machines between them is in the change and not in its interval."
		}
		lines = append(lines, text, fmt.Sprintf("%s made, each at 5 %%: where nothing differs, up to %s of them are expected to leave 0 out by chance.",
			readable.Either(uint64(made), "test was", "tests were"), strconv.FormatFloat(byChance, 'f', -1, 64)))
	} else {
		lines = append(lines, fmt.Sprintf("An interval needs %d repeats on both sides.", analyze.MinRepeats))
	}
	return append(lines, leftOut(c)...)
}

// leftOut says what is not in the table, or not in its medians.
func leftOut(c *analyze.Comparison) (lines []string) {
	if len(c.LeftOut) > 0 {
		lines = append(lines, "Left out of the medians: "+strings.Join(c.LeftOut, "; ")+".")
	}
	if len(c.OnlyNew) > 0 {
		lines = append(lines, "Without a baseline: "+strings.Join(c.OnlyNew, ", ")+".")
	}
	if len(c.OnlyBase) > 0 {
		lines = append(lines, "In the baseline alone: "+strings.Join(c.OnlyBase, ", ")+".")
	}
	return lines
}
