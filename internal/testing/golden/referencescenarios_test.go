package golden

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// parameterGroups contains the tables of docs/reference/scenarios.md, each with the first parameter
// in the table.
var parameterGroups = []struct{ name, first string }{
	{"names and repeats", "name"}, {"cluster", "store"}, {"operations", "operation"}, {"keys and values", "key-size"},
	{"transactions", "txn-keys"}, {"applications", "application"}, {"watchers", "watch"}, {"store work", "compact"}, {"time", "arrival"},
}

// scenarioBlocks returns the generators for the tables in docs/reference/scenarios.md.
func scenarioBlocks() map[string]func(*block) string {
	all := map[string]func(*block) string{
		"keys of a file": func(b *block) string {
			var rows [][]string
			for _, k := range scenario.FileKeys() {
				rows = append(rows, []string{code(k.Key), "", "", k.Meaning})
			}
			return b.table([]string{"key", "default", "range", "meaning"}, rows)
		},
		"capabilities": capabilityTable,
	}
	for i, group := range parameterGroups {
		all["parameters: "+group.name] = func(b *block) string {
			of := scenario.Parameters(load.Applications())
			of = of[slices.IndexFunc(of, hasKey(group.first)):]
			if i+1 < len(parameterGroups) {
				of = of[:slices.IndexFunc(of, hasKey(parameterGroups[i+1].first))]
			}
			return parameterTable(b, of)
		}
	}
	return all
}

func hasKey(key string) func(*scenario.Parameter) bool {
	return func(p *scenario.Parameter) bool { return p.Key == key }
}

// defaultLoads is a scenario in which every parameter with a default occurs in at least one trial.
const defaultLoads = `
order: written
defaults: {store: etcd}
trials:
  - {name: a, operation: put, watch: {watchers: 1}, faults: none}
  - {name: b, operation: range, range-key: a}
  - {name: c, operation: txn}
  - {name: d, operation: stm}
  - {name: e, operation: put, rate: 1, compact: {every: 1s}}
  - {name: f, application: kubernetes}
  - {name: g, application: patroni}
  - {name: h, application: election-race}
  - {name: i, application: catalog, store: consul}
`

// parameterTable returns a table with a row for each parameter: its default in a scenario file, its
// range, its flag in bench, and its meaning. Defaults that depend on other parameters are written
// on the page by hand.
func parameterTable(b *block, of []*scenario.Parameter) string {
	s, err := scenario.Parse("defaults.yaml", []byte(defaultLoads), registry.Catalog{Apps: load.Applications}, scenario.Options{})
	must(b.t, err)
	follows := []string{"mix", "target", "total", "key-space", "rate", "watch.watchers", "watch.watched-keys", "watch.mode", "compact.every", "consistency", "range-key", "preload", "ttl", "prefix", "application"}
	var rows [][]string
	for _, p := range of {
		given, flag, meaning := "", "–", cmp.Or(p.FileMeaning, p.Meaning)
		for i := range s.Trials {
			if text := p.Text(&s.Trials[i].Load); given == "" && text != "" && !slices.Contains(follows, p.Key) {
				given = code(text)
			}
		}
		if !p.FileOnly {
			flag = code("--" + p.FlagName())
		}
		for _, f := range p.Features {
			meaning += fmt.Sprintf("; needs `%s`", f)
		}
		rows = append(rows, []string{code(p.Key), flag, given, p.Bounds(), meaning})
	}
	return b.table([]string{"key", "flag of `bench`", "default", "range", "meaning"}, rows)
}

// capabilityTable returns a table of the capabilities of each store.
func capabilityTable(b *block) string {
	var rows [][]string
	row := func(what string, has func(kv.Capabilities) bool) {
		cells := []string{what}
		for _, s := range registry.All() {
			cell := "–"
			if has(s.Capabilities()) {
				cell = "yes"
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	for k := range kv.NumKinds {
		row(code(k.String()), func(c kv.Capabilities) bool { return c.Operations[k] != "" })
	}
	for level := range kv.NumConsistencies {
		if level != kv.NoConsistency {
			row(level.String()+" reads", func(c kv.Capabilities) bool { return c.Reads[level] != "" })
		}
	}
	for f := range kv.NumFeatures {
		row(code(f.String()), func(c kv.Capabilities) bool { return c.Has(f) })
	}
	return b.table(append([]string{"operation or capability"}, registry.Names()...), rows)
}
