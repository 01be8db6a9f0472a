package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
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
	g := grid{columns: []column{{"operation", true}, {title: "value"}, {title: "clients"}, {"target", true},
		{title: "QPS (change)"}, {title: "95 % interval"}, {title: "p90 (change)"}, {title: "95 % interval"}, {"verdict", true}}}
	var notes footnotes
	named := !distinct(c)
	if named {
		g.columns = append([]column{{"trial", true}}, g.columns...)
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		t := p.New[0]
		cells := []string{headline(t) + levelsOf(&notes, p), Bytes(uint64(t.ValueSize)), callers(t), t.Target.String(),
			perSecond(p.QPS) + " (" + percentOf(p.QPSChange) + ")", intervalOf(p.QPSChange) + notes.mark(dependence(p, p.QPSChange)),
			Figure(p.P90) + " (" + percentOf(p.P90Change) + ")", intervalOf(p.P90Change) + notes.mark(dependence(p, p.P90Change)),
			bothVerdicts(p)}
		if named {
			cells = append([]string{p.Name}, cells...)
		}
		g.add(cells...)
	}
	if err := as.table(&g, &b); err != nil {
		return err
	}
	b.WriteString("\n")
	for _, line := range slices.Concat(notes.lines(), compareNotes(c)) {
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
	g := &grid{columns: []column{{"", true}, {"this run", true}, {"baseline", true}}}
	row := func(what, now, base string) {
		if base == now {
			base = "the same"
		}
		g.add("  "+what, now, base)
	}
	add := func(what string, of func(*record.Trial) string) {
		news, bases := said{}, said{}
		for i := range c.Pairs {
			news.add(of(c.Pairs[i].New[0]), "")
			bases.add(of(c.Pairs[i].Base[0]), "")
		}
		row(what, orDash(strings.Join(news.order, "; ")), orDash(strings.Join(bases.order, "; ")))
	}
	add("store", func(t *record.Trial) string { return store(t) + ", " + plural(uint64(t.Members), "member") })
	add("machine", machine)
	add("durability", durability)
	for _, f := range []struct {
		what string
		of   func(*record.Run) string
	}{
		{"tool", func(r *record.Run) string { return "quorumbench " + orDash(r.Tool.Version) }},
		{"revision", func(r *record.Run) string { return orDash(r.Tool.Revision) }},
		{"Go", func(r *record.Run) string { return orDash(r.Tool.Go) }},
		{"began", func(r *record.Run) string { return r.Started.UTC().Format(time.RFC3339) }},
		{"seed", func(r *record.Run) string { return strconv.FormatUint(r.Seed, 10) }},
	} {
		row(f.what, f.of(c.Run), f.of(c.Base))
	}
	add("repeats", func(t *record.Trial) string { return strconv.Itoa(max(t.Repeats, 1)) })
	return g
}

// distinct reports whether the columns tell the rows apart.
func distinct(c *analyze.Comparison) bool {
	seen := map[string]bool{}
	for i := range c.Pairs {
		t := c.Pairs[i].New[0]
		key := strings.Join([]string{headline(t), strconv.Itoa(t.ValueSize), callers(t), t.Target.String()}, "\x00")
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// callers is a closed loop's clients, or an open loop's rate.
func callers(t *record.Trial) string {
	if t.Open() {
		return due(t)
	}
	return Count(uint64(t.Clients))
}

func perSecond(f measure.Figure) string {
	if !f.Known {
		return Dash
	}
	return PerSecond(f.NS)
}

// percentOf is a change in percent with its sign; +0.0 % is no change.
func percentOf(c analyze.Change) string {
	if !c.Known {
		return Dash
	}
	return signed(c.Share)
}

// intervalOf is the interval of a change, or a dash where there is none.
func intervalOf(c analyze.Change) string {
	if !c.Known || !c.Interval {
		return Dash
	}
	return signed(c.Low) + " to " + signed(c.High)
}

func signed(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 1, 64)
	if text == "-0.0" {
		text = "0.0"
	}
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text + " %"
}

// levelsOf are the marks of both sides' consistency levels that are less than
// they are called.
func levelsOf(notes *footnotes, p *analyze.Pair) string {
	marks := notes.levels(p.New[0])
	base := notes.levels(p.Base[0])
	if base == marks || marks == "" {
		return base
	}
	return strings.TrimSuffix(marks+thinSpace+base, thinSpace)
}

// dependence says why an interval is of less than it seems; empty if it is not.
func dependence(p *analyze.Pair, c analyze.Change) string {
	if !p.Dependent || !c.Known || !c.Interval {
		return ""
	}
	return "Repeats of a side ran on one cluster and share its state, so they are not independent: the interval is of how far repeats there differ, and other clusters may differ by more."
}

func pluralWere(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return Count(uint64(n)) + " " + noun + "s were"
}

// bothVerdicts is the verdict of a row, and the baseline's where it is another.
func bothVerdicts(p *analyze.Pair) string {
	now, base := (&group{trials: p.AllNew}).verdict(), (&group{trials: p.AllBase}).verdict()
	if now == base {
		return now
	}
	return now + "; baseline " + base
}

func compareNotes(c *analyze.Comparison) []string {
	var lines []string
	open := false
	for i := range c.Pairs {
		open = open || c.Pairs[i].New[0].Open()
	}
	time := "p90 is of the service time"
	if open {
		time += ", and of the response time where the clients' column has a rate"
	}
	lines = append(lines, "QPS and p90 are medians of the repeats (of an even number, the slower of the middle two); "+time+".")
	if made, byChance := c.Tests(); made > 0 {
		text := "The interval holds the changes that a Mann-Whitney test at 5 % does not refute; one that holds 0 shows no difference."
		if c.Run != c.Base {
			text += " The runs were made one after the other: what changed on the machines between them is in the change and not in its interval."
		}
		lines = append(lines, text, fmt.Sprintf("%s made, each at 5 %%: where nothing differs, up to %s of them are expected to leave 0 out by chance.",
			pluralWere(made, "test"), strconv.FormatFloat(byChance, 'f', -1, 64)))
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
