package analyze

import (
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// facet is a condition that stands above the table when all trials share it,
// and in a column of its own when they do not.
type facet struct {
	title string // of the column
	cell  func(*record.Trial) string
	above func(*record.Trial) string // nil for what SharedConditions says by itself
}

// facets are the store, the members, and the load's parameters as the scenario
// package defines them.
func facets() []facet {
	all := []facet{{"store", Store, nil}, {"members", func(t *record.Trial) string { return strconv.Itoa(t.Members) }, nil}}
	for _, r := range scenario.Readings() {
		all = append(all, facetOf(r))
	}
	return all
}

func facetOf(r *scenario.Reading) facet {
	return facet{r.Title,
		func(t *record.Trial) string { return readable.OrDash(r.Cell(&t.Load)) },
		func(t *record.Trial) string { return r.Above(&t.Load) }}
}

// shared reports whether a facet is the same for all.
func (f facet) shared(all []*Row) bool {
	for _, r := range all {
		if f.cell(r.First()) != f.cell(all[0].First()) {
			return false
		}
	}
	return true
}

// Store is the store's kind and version, and the scenario's name for the build.
func Store(t *record.Trial) string {
	name := strings.TrimSpace(t.Store + " " + t.Version)
	if t.Label != "" {
		name += " (" + t.Label + ")"
	}
	return name
}

// operation is the trial's operation, or its mix with the weights.
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
		parts = append(parts, o.Kind.String()+" "+measure.Percent(o.Weight/sum))
	}
	return t.Operation + " (" + strings.Join(parts, ", ") + ")"
}
