package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Fact is a line in a report: a label and a text.
type Fact struct {
	Label, Text string
	Wide        bool // shown only in wide output
}

// facts returns the facts whose text is not empty.
func facts(all ...Fact) []Fact {
	return slices.DeleteFunc(all, func(f Fact) bool { return f.Text == "" })
}

// SharedConditions returns the conditions that are the same for all trials.
func SharedConditions(run *record.Run, all []*Row) []Fact {
	first := all[0].First()
	var list []Fact
	shared := facets()
	one := shared[0].shared(all)
	if one && shared[1].shared(all) {
		list = append(list, Fact{Label: "store", Text: Store(first) + ", " + text.Plural(uint64(first.Members), "member")})
	}
	for i, words := range durabilities(all, !one) {
		list = append(list, Fact{Label: []string{"durability", ""}[min(i, 1)], Text: words})
	}
	var load []string
	for _, f := range shared {
		if f.textAbove != nil && f.shared(all) && f.textAbove(first) != "" {
			load = append(load, f.textAbove(first))
		}
	}
	var done []*record.Trial
	for _, r := range all {
		done = append(done, r.Done...)
	}
	if words := warmups(done); words != "" {
		load = append(load, words)
	}
	machine := func(r *record.Run) string {
		i := slices.IndexFunc(all, func(row *Row) bool { return run.PartOf(row.First()) == r })
		if i < 0 {
			return ""
		}
		return Machine(all[i].First())
	}
	seed := func(r *record.Run) string { return strconv.FormatUint(r.Seed, 10) }
	tool := func(r *record.Run) string { return strings.TrimSpace("quorumbench " + r.Tool.Version) }
	return facts(append(list, Fact{Label: "machine", Text: textOfParts(run, machine)}, Fact{"calibrated", calibratedBy(all), true}, Fact{"clocks", Clocks(done), true},
		Fact{Label: "load", Text: strings.Join(load, ", ")}, Fact{"seed", textOfParts(run, seed), true}, Fact{"tool", textOfParts(run, tool), true}, Fact{Label: "resumed", Text: textOfParts(run, ResumptionText)})...)
}

// calibratedBy returns the calibrations of all trials. Each calibration is listed only once.
func calibratedBy(all []*Row) string {
	var texts []string
	for _, r := range all {
		if text := CalibrationLine(r.First().Calibration); text != "" {
			texts = AppendNew(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// textOfParts returns a text about the parts of a run. If the text is the same for all parts,
// textOfParts returns it only once. Otherwise, it adds the name of the part to each text.
func textOfParts(run *record.Run, of func(*record.Run) string) string {
	var different, each []string
	for _, p := range run.PartsOrSelf() {
		if text := of(p); text != "" {
			different, each = AppendNew(different, text), append(each, p.Name+": "+text)
		}
	}
	if len(different) < 2 {
		return strings.Join(different, "")
	}
	return strings.Join(each, "; ")
}

// Conditions returns the conditions of a single trial.
func Conditions(t *record.Trial) []Fact {
	// if the durability is unknown, only wide output has the line about durability, because a note
	// already says that it is unknown
	return facts(Fact{Label: "load", Text: load(t)}, Fact{Label: "consistency", Text: strings.Join(weakerReads(t), " ")}, Fact{"durability", Durability(t), t.Durability == nil},
		Fact{Label: "machine", Text: Machine(t)}, Fact{"calibrated", CalibrationLine(t.Calibration), true}, Fact{"clocks", Clocks([]*record.Trial{t}), true},
		Fact{"seed", strconv.FormatUint(t.Seed, 10), true})
}

// load describes the trial's load in one line.
func load(t *record.Trial) string {
	var parts []string
	if t.Open() {
		arrival := t.Arrival.String()
		// an application computes the times of its calls; the times do not come from a recording
		if t.Application.Name != "" {
			arrival = "scheduled"
		}
		parts = append(parts, fmt.Sprintf("open loop, %s, %s", arrival, strings.TrimPrefix(DueRate(t), "poisson ")))
	} else {
		parts = append(parts, "closed loop, "+text.Plural(uint64(t.Clients), "client"))
	}
	for _, f := range facets() {
		if f.textAbove == nil {
			continue
		}
		if words := f.textAbove(t); words != "" {
			parts = append(parts, words)
		}
	}
	if words := warmups([]*record.Trial{t}); words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, ", ")
}

// Headline returns the trial's operation, or its mix, and the consistency.
func Headline(t *record.Trial) string {
	if t.Consistency == "" {
		return operation(t)
	}
	return operation(t) + ", " + t.Consistency
}

// durabilities returns the different sentences about durability. If named is set, each sentence
// starts with the name of the store.
func durabilities(all []*Row, named bool) []string {
	var texts []string
	for _, g := range all {
		s := Durability(g.First())
		if named {
			s = Store(g.First()) + ": " + s
		}
		texts = AppendNew(texts, s)
	}
	return texts
}

// Durability describes what the store guarantees for an acknowledged write, and how fast the disk
// syncs.
func Durability(t *record.Trial) string {
	d := t.Durability
	if d == nil {
		return "unknown: fdatasync was not measured; set data-dir to the data folder of a local member"
	}
	words := fmt.Sprintf("fdatasync p50 %s, p99 %s", d.P50().Text(), d.P99().Text())
	if !d.P99().Known && d.Fdatasyncs > 0 {
		words += fmt.Sprintf(" (%s)", text.Plural(uint64(d.Fdatasyncs), "write"))
	}
	words += " on " + text.OrDash(d.FileSystem)
	if d.Volatile {
		words += ", which loses its data at power loss"
	}
	switch env := t.Environment(); {
	case d.Synced && env != "":
		return words + "; the store syncs before it acknowledges, with the environment " + env
	case d.Synced:
		return words + "; the store syncs before it acknowledges"
	case env != "":
		return words + "; the store does not sync, with the environment " + env
	}
	return words + "; the store does not sync"
}

// Machine describes the load generator's machine, and states whether members also run on this
// machine.
func Machine(t *record.Trial) string {
	m := t.Machine
	if m == nil {
		return ""
	}
	parts := []string{}
	for _, s := range []string{m.Name, m.CPU, text.Plural(uint64(m.CPUs), "CPU"), text.Bytes(m.MemoryBytes),
		strings.TrimSpace(m.System + " " + m.Kernel + " " + m.Architecture)} {
		if s != "" && s != "0 B" {
			parts = append(parts, s)
		}
	}
	words := strings.Join(parts, ", ")
	if m.CPULimit != nil {
		words += fmt.Sprintf(", limited to %g CPUs", *m.CPULimit)
	}
	switch {
	case t.SharesMachine == nil:
	case *t.SharesMachine:
		words += "; shared by load generator and members"
	default:
		words += "; used by the load generator only; the members run on other machines"
	}
	return words
}

// facet is a condition that is printed above the table if it is the same for all trials. Otherwise,
// it has its own column.
type facet struct {
	title string // the title of the column
	cell  func(*record.Trial) string
	// the text above the table; nil if SharedConditions creates the text
	textAbove func(*record.Trial) string
}

// facets returns a facet for the store, one for the number of members, and one for each parameter
// of a load (see scenario.Presentations).
func facets() []facet {
	all := []facet{{"store", Store, nil}, {"members", func(t *record.Trial) string { return strconv.Itoa(t.Members) }, nil}}
	for _, r := range scenario.Presentations() {
		all = append(all, facetOf(r))
	}
	return all
}

func facetOf(r *scenario.Presentation) facet {
	return facet{r.Title,
		func(t *record.Trial) string { return text.OrDash(r.Cell(&t.Load)) },
		func(t *record.Trial) string { return r.Heading(&t.Load) }}
}

// shared reports whether the condition is the same for all rows.
func (f facet) shared(all []*Row) bool {
	for _, r := range all {
		if f.cell(r.First()) != f.cell(all[0].First()) {
			return false
		}
	}
	return true
}

// Store returns the store's kind and version, and the name that the scenario gives to the build.
func Store(t *record.Trial) string {
	name := strings.TrimSpace(t.Store + " " + t.Version)
	if t.Label != "" {
		name += " (" + t.Label + ")"
	}
	return name
}

// operation returns the trial's operation, or its mix with the shares.
func operation(t *record.Trial) string {
	if len(t.Mix) < 2 {
		return t.Operation
	}
	sum := 0.0
	for _, o := range t.Mix {
		sum += o.Weight
	}
	parts := make([]string, 0, len(t.Mix))
	for _, o := range t.Mix {
		parts = append(parts, o.Kind.String()+" "+text.Share(o.Weight/sum))
	}
	return t.Operation + " (" + strings.Join(parts, ", ") + ")"
}

// DueRate returns the rate of an open loop as text. The text starts with "poisson" if the arrivals
// are random.
func DueRate(t *record.Trial) string {
	switch {
	case t.Rate == nil:
		return text.Dash
	case t.Arrival == scenario.Poisson:
		return "poisson " + text.PerSecond(*t.Rate)
	}
	return text.PerSecond(*t.Rate)
}
