package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Summary writes one trial for a reader: what was done, throughput, times,
// errors, roles, the generator's cost and the verdict. dir is the run
// directory's path; empty for none.
func Summary(w io.Writer, t *record.Trial, dir string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s on %s, target %s of %s\n", headline(t), store(t), t.Target, plural(uint64(t.Members), "member"))
	if t.Failure != "" {
		fmt.Fprintf(&b, "%s\n", t.Failure)
	}
	facts := grid{columns: []column{{"", true}, {"", true}}}
	for _, f := range [][2]string{
		{"load", load(t)},
		{"consistency", strings.Join(shortOf(t), " ")},
		{"durability", durability(t)},
		{"machine", machine(t)},
		{"seed", fmt.Sprint(t.Seed)},
	} {
		if f[1] != "" {
			facts.add("  "+f[0], f[1])
		}
	}
	if measured(t) {
		facts.add("", "")
		results(&facts, t)
	}
	if err := facts.writeRows(&b); err != nil {
		return err
	}
	if measured(t) {
		if err := distributions(&b, t); err != nil {
			return err
		}
		errorList(&b, t)
		if err := watched(&b, t); err != nil {
			return err
		}
		if err := served(&b, t); err != nil {
			return err
		}
		if err := byMember(&b, t); err != nil {
			return err
		}
		hashes(&b, t)
		happened(&b, []record.Trial{*t})
		judged(&b, t)
	}
	if dir != "" {
		fmt.Fprintf(&b, "\nRun directory: %s\n", printable.Line(dir, printable.OfOutput))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func headline(t *record.Trial) string {
	if t.Consistency == "" {
		return operation(t)
	}
	return operation(t) + ", " + t.Consistency
}

// load is the trial's load in a line.
func load(t *record.Trial) string {
	var parts []string
	if t.Open() {
		parts = append(parts, fmt.Sprintf("open loop, %s, %s", t.Arrival, strings.TrimPrefix(due(t), "poisson ")))
	} else {
		parts = append(parts, "closed loop, "+plural(uint64(t.Clients), "client"))
	}
	for _, f := range facets() {
		if f.above == nil {
			continue
		}
		if text := f.above(t); text != "" {
			parts = append(parts, text)
		}
	}
	if text := warmups([]*record.Trial{t}); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// results adds throughput, errors and the generator's cost.
func results(g *grid, t *record.Trial) {
	g.add("  throughput", fmt.Sprintf("%s (%s completed in %s)", PerSecond(t.PerSecond), plural(t.Completed, "operation"), seconds(t.Seconds)))
	errors := "none"
	if t.Errors > 0 {
		errors = fmt.Sprintf("%s of %s due (%s)", Count(t.Errors), Count(t.Due), measure.Percent(float64(t.Errors)/float64(t.Due)))
		if t.FailedFrom != nil {
			errors += "; " + failedAbove(t)
		}
	}
	g.add("  errors", errors)
	if t.Conflicts > 0 {
		g.add("  conflicts", Count(t.Conflicts))
	}
	if t.Misses > 0 {
		g.add("  misses", Count(t.Misses))
	}
	keysRead(g, t)
	if n := t.Retries; n != nil {
		each := ""
		if t.Operations > 0 {
			each = fmt.Sprintf(" (%.3g a transaction)", float64(*n)/float64(t.Operations))
		}
		g.add("  retries", Count(*n)+each)
	}
	gap := "below 1 ms"
	if f := longestGap(t); f.Known {
		gap = Figure(f)
	}
	g.add("  longest gap", gap+" without any operation done")
	cost := seconds(t.CPUSeconds) + " of processor time"
	if t.CPUPerOp != nil {
		cost += ", " + Duration(*t.CPUPerOp) + " an operation"
	}
	g.add("  generator", cost+", "+Bytes(uint64(max(t.MaxRSSBytes, 0)))+" resident")
	if t.StoreCPUSeconds != nil && t.StoreMaxRSSBytes != nil {
		cost := seconds(*t.StoreCPUSeconds) + " of processor time"
		if t.StoreCPUPerOp != nil {
			cost += ", " + Duration(*t.StoreCPUPerOp) + " an operation"
		}
		g.add("  store", cost+", "+Bytes(uint64(max(*t.StoreMaxRSSBytes, 0)))+" resident")
	}
}

// failedAbove says from where on percentiles are failed operations'.
func failedAbove(t *record.Trial) string {
	if t.Operations == 0 {
		return "all percentiles failed"
	}
	return "percentiles above " + measure.PercentileText(*t.FailedFrom) + " failed"
}

// keysRead adds how many keys ranges read.
func keysRead(g *grid, t *record.Trial) {
	if n := t.KeysRead; n != nil && t.Operations > 0 && readsMany(t) {
		g.add("  keys read", fmt.Sprintf("%s (%.3g an operation)", Count(*n), float64(*n)/float64(t.Operations)))
	}
}

// readsMany reports whether one operation of the trial can read several keys.
func readsMany(t *record.Trial) bool {
	return slices.ContainsFunc(t.Mix, func(o scenario.Operation) bool {
		return o.Kind == kv.Range || o.Kind == kv.TxnGet
	})
}

// distributions writes the times side by side, the loop's own time first.
func distributions(w io.Writer, t *record.Trial) error {
	type part struct {
		title string
		times record.Times
	}
	parts := []part{{"service time", t.ServiceTime}, {"response time", t.ResponseTime}}
	if t.Open() {
		slices.Reverse(parts)
	}
	if t.Errors > 0 {
		parts = append(parts, part{"of successes alone", t.SuccessResponseTime})
	}
	if t.Lateness != nil {
		parts = append(parts, part{"sent late by", *t.Lateness})
	}
	g := grid{columns: []column{{"", true}}}
	for _, p := range parts {
		g.columns = append(g.columns, column{title: p.title})
	}
	add := func(what string, of func(record.Times) measure.Figure) {
		cells := []string{"  " + what}
		for _, p := range parts {
			cells = append(cells, Figure(of(p.times)))
		}
		g.add(cells...)
	}
	timesRows(add)
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return g.write(w)
}

// errorList writes the errors by kind, the most frequent first.
func errorList(b *bytes.Buffer, t *record.Trial) {
	kinds := make([]string, 0, len(t.ErrorsByKind))
	for kind := range t.ErrorsByKind {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if na, nb := t.ErrorsByKind[a], t.ErrorsByKind[b]; na != nb {
			if na > nb {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if len(kinds) > 0 {
		b.WriteString("\nErrors\n")
	}
	for _, kind := range kinds {
		line := fmt.Sprintf("  %s: %s", kind, Count(t.ErrorsByKind[kind]))
		if times, ok := t.ErrorTimes[kind]; ok {
			line += ", the slowest after " + Figure(times.Max)
		}
		if text := t.ErrorTexts[kind]; text != "" {
			line += "; the first: " + text
		}
		b.WriteString(line + "\n")
	}
}

// served writes what each operation and role took, where there is more than one.
func served(w io.Writer, t *record.Trial) error {
	if len(t.ByRole) < 2 {
		return nil
	}
	g := grid{columns: []column{
		{"  operation", true}, {"consistency", true}, {"served by", true}, {title: "operations"}, {title: "errors"},
		{title: "service p50"}, {title: "p99"}, {title: "response p50"}, {title: "p99"},
	}}
	for _, s := range t.ByRole {
		g.add("  "+s.Operation, orDash(s.Consistency), s.Role, Count(s.Operations), Count(s.Errors),
			Figure(s.ServiceTime.At(50)), Figure(s.ServiceTime.At(99)),
			Figure(s.ResponseTime.At(50)), Figure(s.ResponseTime.At(99)))
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return g.write(w)
}

// judged writes the verdict, its reasons and the notes.
func judged(b *bytes.Buffer, t *record.Trial) {
	fmt.Fprintf(b, "\nVerdict: %s\n", t.Verdict.State)
	for i, r := range t.Verdict.Reasons {
		fmt.Fprintf(b, "%3d. %s\n", i+1, r)
	}
	notes := slices.Concat(t.Verdict.Notes, t.Notes)
	if text := unsteady(t); text != "" {
		notes = append(notes, text)
	}
	list(b, "Notes", notes)
}
