package golden

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// units contains the names of the units of figures.
var units = map[measure.Unit]string{
	measure.Nanoseconds: "ns", measure.Seconds: "s", measure.Length: "s", measure.Number: "number", measure.Ratio: "ratio",
	measure.Rate: "1/s", measure.Share: "share", measure.Bytes: "bytes",
}

// figureBlocks returns the generators for the tables in docs/reference/figures.md.
func figureBlocks() map[string]func(*block) string {
	return map[string]func(*block) string{
		"figures":       func(b *block) string { return figureTable(b, false) },
		"watch figures": func(b *block) string { return figureTable(b, true) },
		"errors": func(b *block) string {
			var rows [][]string
			for o := kv.NotSent; o < kv.NumOutcomes; o++ {
				rows = append(rows, []string{code(o.String()), yesNo(o.Definite())})
			}
			return b.table([]string{"kind", "definite", "meaning"}, rows)
		},
	}
}

// figureTable returns a table with a row for each figure. All figures of one distribution share a
// row.
func figureTable(b *block, watched bool) string {
	better := map[figures.Direction]string{figures.NoDirection: "–", figures.LowerIsBetter: "lower", figures.HigherIsBetter: "higher"}
	var rows [][]string
	var last *figures.Distribution
	for _, f := range figures.All() {
		name, field, meaning := f.Name, f.Field, f.Meaning
		if d := f.Times; d != nil {
			if d == last || d.Field == "" {
				continue
			}
			last, name, field, meaning = d, d.Prefix+"-…", d.Field, d.Meaning
		}
		if f.DescribesWatchEvents() != watched {
			continue
		}
		if field = code(field); field == "" {
			field = code(f.Column) + " (CSV only)"
		}
		if name = code(name); name == "" {
			name = "–"
		}
		rows = append(rows, []string{name, field, units[f.Unit], better[f.Direction], meaning})
	}
	return b.table([]string{"name", "field", "unit", "better", "meaning"}, rows)
}
