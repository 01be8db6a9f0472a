package analyze

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Side is a condition of a run and of its baseline.
type Side struct{ What, Now, Base string }

// Sides are the conditions of the run and of its baseline, side by side.
func (c *Comparison) Sides() []Side {
	var all []Side
	each := func(what string, of func(*record.Trial) string) {
		var news, bases []string
		add := func(to []string, text string) []string {
			if slices.Contains(to, text) {
				return to
			}
			return append(to, text)
		}
		for i := range c.Pairs {
			news, bases = add(news, of(c.Pairs[i].New[0])), add(bases, of(c.Pairs[i].Base[0]))
		}
		all = append(all, Side{what, readable.OrDash(strings.Join(news, "; ")), readable.OrDash(strings.Join(bases, "; "))})
	}
	whole := func(what string, of func(*record.Run) string) {
		all = append(all, Side{what, readable.OrDash(of(c.Run)), readable.OrDash(of(c.Base))})
	}
	each("store", func(t *record.Trial) string {
		return Store(t) + ", " + readable.Plural(uint64(t.Members), "member")
	})
	each("machine", Machine)
	each("durability", Durability)
	whole("tool", func(r *record.Run) string { return "quorumbench " + readable.OrDash(r.Tool.Version) })
	whole("revision", func(r *record.Run) string { return r.Tool.Revision })
	whole("Go", func(r *record.Run) string { return r.Tool.Go })
	whole("began", func(r *record.Run) string { return r.Started.UTC().Format(time.RFC3339) })
	whole("seed", func(r *record.Run) string { return strconv.FormatUint(r.Seed, 10) })
	each("repeats", func(t *record.Trial) string { return strconv.Itoa(max(t.Repeats, 1)) })
	return all
}

// Open reports whether some of the pairs are of open loops.
func (c *Comparison) Open() bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.New[0].Open() })
}

// dependent says why an interval is of less than it seems.
const dependent = "Repeats of a side ran on one cluster and share its state, so they are not independent: the interval is of how far repeats there differ, and other clusters may differ by more."

// Table has a row for each pair.
func (c *Comparison) Table() Table {
	t := Table{Kind: Compares, Columns: []Column{{"operation", true}, {Title: "value"}, {Title: "clients"}, {"target", true}}}
	for _, f := range ComparedFigures() {
		t.Columns = append(t.Columns, Column{Title: f.Title + " (change)"}, Column{Title: "95 % interval"})
	}
	t.Columns = append(t.Columns, Column{"verdict", true})
	var notes footnotes
	for i := range c.Pairs {
		t.Rows = append(t.Rows, c.Pairs[i].cells(&notes))
	}
	if !distinct(t.Rows) {
		t.Columns = append([]Column{{"trial", true}}, t.Columns...)
		for i := range c.Pairs {
			t.Rows[i] = append([]Cell{{Text: c.Pairs[i].Name}}, t.Rows[i]...)
		}
	}
	t.Footnotes = notes.texts
	return t
}

func (p *Pair) cells(notes *footnotes) []Cell {
	t := p.New[0]
	levels := notes.levels(t)
	for _, n := range notes.levels(p.Base[0]) {
		if !slices.Contains(levels, n) {
			levels = append(levels, n)
		}
	}
	cells := []Cell{{Text: Headline(t), Notes: levels}, {Text: readable.Bytes(uint64(t.ValueSize))}, {Text: callers(t)}, {Text: t.Target.String()}}
	for _, f := range p.Figures {
		interval := Cell{Kind: IntervalOfChange, Change: f.Change}
		if p.Dependent && f.Change.Known && f.Change.Interval {
			interval.Notes = []int{notes.mark(dependent)}
		}
		cells = append(cells, Cell{Kind: Changed, Value: f.Now, Change: f.Change}, interval)
	}
	verdict, base := JudgedOf(p.AllNew).String(), JudgedOf(p.AllBase).String()
	if base != verdict {
		verdict += "; baseline " + base
	}
	return append(cells, Cell{Text: verdict})
}

// distinct reports whether the cells before the figures tell the rows apart.
func distinct(rows [][]Cell) bool {
	seen := map[string]bool{}
	for _, row := range rows {
		key := ""
		for _, c := range row[:4] {
			key += c.Text + "\x00"
		}
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
	return readable.Count(uint64(t.Clients))
}
