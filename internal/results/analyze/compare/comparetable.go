package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Side holds the values of one condition, such as the machine, for the run and for its baseline.
type Side struct{ Condition, Current, Base string }

// Sides returns the conditions of the run and the baseline, such as the store and the machine.
func (c *Comparison) Sides() []Side {
	var all []Side
	each := func(what string, of func(*record.Trial) string) {
		var news, bases []string
		for i := range c.Pairs {
			news, bases = analyze.AppendNew(news, of(c.Pairs[i].New[0])), analyze.AppendNew(bases, of(c.Pairs[i].Base[0]))
		}
		all = append(all, Side{what, text.OrDash(strings.Join(news, "; ")), text.OrDash(strings.Join(bases, "; "))})
	}
	whole := func(what string, of func(*record.Run) string) {
		all = append(all, Side{what, text.OrDash(of(c.Run)), text.OrDash(of(c.Base))})
	}
	each("store", func(t *record.Trial) string {
		return analyze.Store(t) + ", " + text.Plural(uint64(t.Members), "member")
	})
	each("machine", analyze.Machine)
	each("durability", analyze.Durability)
	whole("tool", func(r *record.Run) string { return "quorumbench " + text.OrDash(r.Tool.Version) })
	whole("revision", func(r *record.Run) string { return r.Tool.Revision })
	whole("Go", func(r *record.Run) string { return r.Tool.Go })
	whole("began", func(r *record.Run) string { return r.Started.UTC().Format(time.RFC3339) })
	if analyze.ResumptionText(c.Run)+analyze.ResumptionText(c.Base) != "" {
		whole("resumed", analyze.ResumptionText)
	}
	whole("seed", func(r *record.Run) string { return strconv.FormatUint(r.Seed, 10) })
	each("repeats", func(t *record.Trial) string {
		if t.UntilPrecise() {
			return "until precise"
		}
		return strconv.Itoa(max(t.Repeats, 1))
	})
	return all
}

// HasOpenLoops reports whether at least one pair has an open loop.
func (c *Comparison) HasOpenLoops() bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.New[0].Open() })
}

// ClientsWaited reports whether clients in closed loops had to wait for connections. For such
// loops, the comparison uses response times.
func (c *Comparison) ClientsWaited() bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		return slices.ContainsFunc(slices.Concat(p.New, p.Base), func(t *record.Trial) bool { return !t.Open() && t.HeadlineTime() == record.Response })
	})
}

// anyChange reports whether at least one change in the comparison fulfills the condition.
func (c *Comparison) anyChange(matches func(analyze.Change) bool) bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		return slices.ContainsFunc(p.Figures, func(f Compared) bool { return matches(f.Change) })
	})
}

// TooFewRepeats reports whether a change has no interval because there are too few repeats. It also
// returns true if nothing was compared.
func (c *Comparison) TooFewRepeats() bool {
	return len(c.Pairs) == 0 || c.anyChange(func(c analyze.Change) bool { return !c.Interval && c.IntervalLackReason == "" })
}

// ComparedFigures describes the kind of mean or median from which the changes are computed.
func (c *Comparison) ComparedFigures() string {
	const means = "weighted geometric means"
	with := c.anyChange(func(c analyze.Change) bool { return c.Interval })
	switch without := c.anyChange(func(c analyze.Change) bool { return !c.Interval && c.Known }); {
	case with && without:
		return means + " or, without an interval, from these medians"
	case without:
		return "these medians"
	}
	return means
}

// UsesRounds reports whether at least one pair has intervals that are computed from rounds.
func (c *Comparison) UsesRounds() bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.UsesRounds() })
}

// UsesRounds reports whether the pair's intervals are computed from rounds (see
// stats.RatioOfRounds).
func (p *Pair) UsesRounds() bool {
	return slices.ContainsFunc(p.Figures, func(f Compared) bool { return f.Change.Ratio.Paired() })
}

// Disturbed reports whether disturbances may have changed a compared figure by a relevant amount.
func (c *Comparison) Disturbed() bool {
	return c.anyChange(func(c analyze.Change) bool { return c.Interval && c.Disturbed })
}

// Table returns a table with a row for each figure of each pair. The labels that identify a pair
// are in the pair's first row.
func (c *Comparison) Table() analyze.Table {
	t := analyze.Table{Kind: analyze.ComparisonKind, Columns: []analyze.Column{{Title: "operation", LeftAligned: true, Condition: true}, {Title: "value", Condition: true, Drop: 1},
		{Title: "clients", Condition: true, Drop: 1}, {Title: "target", LeftAligned: true, Condition: true, Drop: 1}}}
	var notes analyze.FootnoteList
	labels := make([][]analyze.Cell, len(c.Pairs))
	for i := range c.Pairs {
		labels[i] = c.Pairs[i].labels(&notes)
	}
	if !distinctOperations(labels) {
		t.Columns = append([]analyze.Column{{Title: "trial", LeftAligned: true}}, t.Columns...)
		for i := range c.Pairs {
			labels[i] = append([]analyze.Cell{{Text: c.Pairs[i].Name}}, labels[i]...)
		}
	}
	t.Columns = append(t.Columns, analyze.Column{Title: "metric", LeftAligned: true}, analyze.Column{Title: "baseline"}, analyze.Column{Title: "this run"}, analyze.Column{Title: "change"},
		analyze.Column{Title: "95 % interval"}, analyze.Column{Title: "result", LeftAligned: true}, analyze.Column{Title: "verdict", LeftAligned: true})
	for i := range c.Pairs {
		t.Rows = append(t.Rows, c.Pairs[i].rows(labels[i], &notes)...)
	}
	t.Footnotes = notes.Texts
	return t
}

// labels returns the cells that identify the pair.
func (p *Pair) labels(notes *analyze.FootnoteList) []analyze.Cell {
	t := p.New[0]
	levels := notes.MarkWeakerReads(t)
	for _, n := range notes.MarkWeakerReads(p.Base[0]) {
		levels = analyze.AppendNew(levels, n)
	}
	return []analyze.Cell{{Text: analyze.Headline(t), Notes: levels}, {Text: text.Bytes(uint64(t.ValueSize))}, {Text: clientsOrRate(t)}, {Text: t.Target.String()}}
}

// rows returns one table row for each of the pair's figures.
func (p *Pair) rows(labels []analyze.Cell, notes *analyze.FootnoteList) (rows [][]analyze.Cell) {
	for _, f := range p.Figures {
		now, base := analyze.JudgeFigure(f.Figure.Name, p.AllNew), analyze.JudgeFigure(f.Figure.Name, p.AllBase)
		judged := analyze.VerdictCell(now)
		if base.String() != now.String() {
			judged.Text += "; baseline " + base.String()
		}
		if state := analyze.VerdictCell(base).Judged; state != "" && (judged.Judged == "" || state.Worse(judged.Judged)) {
			judged.Judged = state
		}
		interval := analyze.Cell{Kind: analyze.ChangeIntervalCell, Change: f.Change}
		if p.Dependent && f.Change.Known && f.Change.Interval {
			interval.Notes = []int{notes.Mark(analyze.DependentNote)}
		}
		word := analyze.Cell{Kind: analyze.JudgementCell, Change: f.Change}
		if f.Change.IntervalLackReason != "" {
			word.Notes = []int{notes.Mark("Unclear: " + f.Change.IntervalLackReason + ".")}
		}
		rows = append(rows, slices.Concat(labels, []analyze.Cell{{Text: f.Title}, {Kind: analyze.FigureValueCell, Value: f.Base}, {Kind: analyze.FigureValueCell, Value: f.Current},
			{Kind: analyze.ChangeCell, Change: f.Change}, interval, word, judged}))
		labels = make([]analyze.Cell, len(labels))
	}
	return rows
}

// distinctOperations reports whether the operation is different for each pair. If so, a narrow
// terminal omits the other labels.
func distinctOperations(labels [][]analyze.Cell) bool {
	first := make([][]analyze.Cell, len(labels))
	for i, row := range labels {
		first[i] = row[:1]
	}
	return distinct(first)
}

// distinct reports whether the labels are different for each pair.
func distinct(labels [][]analyze.Cell) bool {
	seen := map[string]bool{}
	for _, row := range labels {
		key := ""
		for _, c := range row {
			key += c.Text + "\x00"
		}
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// clientsOrRate returns the number of clients in a closed loop, or the rate of an open loop.
func clientsOrRate(t *record.Trial) string {
	if t.Open() {
		return analyze.DueRate(t)
	}
	return text.Count(uint64(t.Clients))
}

// interleaved reports whether two sets of repeats in one run overlap in time, so that slow changes
// of the machine affect both sets.
func interleaved(a, b []*record.Trial) bool {
	firstA, lastA := started(a)
	firstB, lastB := started(b)
	return firstA.Before(lastB) && firstB.Before(lastA)
}

func started(all []*record.Trial) (first, last time.Time) {
	first, last = all[0].Started, all[0].Started
	for _, t := range all {
		if t.Started.Before(first) {
			first = t.Started
		}
		if t.Started.After(last) {
			last = t.Started
		}
	}
	return first, last
}

// findDifferences adds a sentence for each difference between the two sides, except differences in
// the load. Each sentence is listed only once.
func (c *Comparison) findDifferences() {
	const own = "the store's default"
	add := func(format string, args ...any) {
		c.Differences = analyze.AppendNew(c.Differences, fmt.Sprintf(format, args...))
	}
	for i := range c.Pairs {
		now, base := c.Pairs[i].New[0], c.Pairs[i].Base[0]
		for _, d := range DifferingConditions(now, base) {
			add("The %s differs: %s here, %s in the baseline.", d.Condition, d.Current, d.Base)
		}
	}
	for i := range c.Pairs {
		now, base := analyze.ClusterOf(c.Run, c.Pairs[i].New[0]), analyze.ClusterOf(c.Base, c.Pairs[i].Base[0])
		if a, b := settings(now), settings(base); a != b {
			add("The store's settings differ: %s here, %s in the baseline.", orNone(a), orNone(b))
		}
		if now.Exec != base.Exec {
			add("The server binary differs: %s here, %s in the baseline.", cmp.Or(now.Exec, own), cmp.Or(base.Exec, own))
		}
	}
	if c.Run != c.Base && c.Run.Tool.Revision != c.Base.Tool.Revision {
		add("The revision of quorumbench differs: %s here, %s in the baseline.", orNone(c.Run.Tool.Revision), orNone(c.Base.Tool.Revision))
	}
	if c.Run != c.Base && c.Run.Seed != c.Base.Seed {
		add("The seed differs: %d here, %d in the baseline.", c.Run.Seed, c.Base.Seed)
	}
}

// settings returns the settings that are specific to the store, as JSON. It returns "" if there are
// none.
func settings(c record.Cluster) string {
	b, err := json.Marshal(c.Settings)
	if err != nil || string(b) == "null" {
		return ""
	}
	return string(b)
}

// condition is a property of the cluster or the machine that may differ between the two sides.
type condition struct {
	name     string
	describe func(*record.Trial) string
	ofStore  bool // set if the condition identifies the store
}

// DifferingConditions returns the conditions in which two trials differ, except conditions that are
// part of the load.
func DifferingConditions(now, base *record.Trial) (all []Side) {
	for _, c := range environment() {
		if a, b := c.describe(now), c.describe(base); a != b {
			all = append(all, Side{c.name, orNone(a), orNone(b)})
		}
	}
	return all
}

// environment returns the conditions that are not part of the load.
func environment() []condition {
	return []condition{
		{name: "store", describe: func(t *record.Trial) string { return t.Store }, ofStore: true},
		{name: "store's version", describe: func(t *record.Trial) string { return t.Version }, ofStore: true},
		{name: "store's build", describe: func(t *record.Trial) string { return t.Label }, ofStore: true},
		{name: "members' environment", describe: func(t *record.Trial) string { return t.Environment() }},
		{name: "number of members", describe: func(t *record.Trial) string { return fmt.Sprint(t.Members) }},
		{name: "use of TLS and authentication", describe: func(t *record.Trial) string { return fmt.Sprintf("TLS %t, authentication %t", t.TLS, t.Authenticated) }},
		{name: "machine", describe: machineText},
		{name: "placement of the members", describe: func(t *record.Trial) string {
			if t.SharesMachine == nil {
				return "unknown"
			}
			return map[bool]string{true: "on the load generator's machine", false: "on other machines"}[*t.SharesMachine]
		}},
		{name: "members' file system", describe: func(t *record.Trial) string {
			if t.Durability == nil {
				return "unknown"
			}
			if !t.Durability.Synced {
				return t.Durability.FileSystem + " without sync"
			}
			return t.Durability.FileSystem
		}},
		{name: "version of quorumbench", describe: func(t *record.Trial) string { return t.Tool }},
		{name: "number of event loops", describe: func(t *record.Trial) string { return fmt.Sprint(t.Loops) }},
	}
}

func machineText(t *record.Trial) string {
	m := t.Machine
	if m == nil {
		return "unknown"
	}
	text := fmt.Sprintf("%s, %s, %d CPUs, %s %s %s", m.Name, m.CPU, m.CPUs, m.System, m.Kernel, m.Architecture)
	if m.CPULimit != nil {
		text += fmt.Sprintf(", limited to %g", *m.CPULimit)
	}
	return text
}
