package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// objects lists the JSON objects that have their own table in docs/reference/files.md.
var objects = []struct {
	name string
	of   reflect.Type
}{
	{"run.json", reflect.TypeFor[record.Run]()},
	{"machine", reflect.TypeFor[measure.Machine]()},
	{"trial", reflect.TypeFor[record.Trial]()},
	{"by_role", reflect.TypeFor[record.Served]()},
	{"by_call", reflect.TypeFor[record.Calls]()},
	{"by_member", reflect.TypeFor[record.ByMember]()},
	{"by_client", reflect.TypeFor[record.ByClient]()},
	{"by_worker", reflect.TypeFor[record.ByWorker]()},
	{"by_host", reflect.TypeFor[measure.Host]()},
	{"clock", reflect.TypeFor[measure.Clock]()},
	{"durability", reflect.TypeFor[measure.Durability]()},
	{"generator_added", reflect.TypeFor[record.GeneratorOverhead]()},
	{"watch", reflect.TypeFor[record.Watched]()},
	{"faults", reflect.TypeFor[record.Fault]()},
	{"verification", reflect.TypeFor[record.Verification]()},
	{"replay", reflect.TypeFor[record.Replay]()},
	{"verdict", reflect.TypeFor[verdict.Verdict]()},
	{"capacity", reflect.TypeFor[record.Capacity]()},
	{"calibration", reflect.TypeFor[record.Calibration]()},
	{"events.jsonl", reflect.TypeFor[record.Event]()},
}

// fileBlocks returns the generators for the tables in docs/reference/files.md.
func fileBlocks() map[string]func(*block) string {
	all := map[string]func(*block) string{
		"timeline.csv": func(b *block) string { return csvTable(b, "timeline.csv, with watchers") },
		"machines.csv": func(b *block) string { return csvTable(b, "machines.csv") },
		"stores.csv":   func(b *block) string { return csvTable(b, "stores.csv") },
		"faults.csv":   func(b *block) string { return csvTable(b, "report --format csv --out, faults.csv") },
		"calls.csv":    func(b *block) string { return csvTable(b, "report --format csv --out, calls.csv") },
		"kinds of events": func(b *block) string {
			kinds := []string{record.FaultBegan, record.FaultStep, record.FaultHealed, record.FaultReady, record.FaultUndone}
			for _, k := range store.SignalKinds() {
				kinds = append(kinds, string(k))
			}
			rows := [][]string{}
			for _, k := range append(kinds, "member_lost", "member_recovered", "compaction_requested", "clock_set") {
				rows = append(rows, []string{code(k)})
			}
			return b.table([]string{"kind", "meaning"}, rows)
		},
	}
	for _, o := range objects {
		all["json "+o.name] = func(b *block) string {
			var rows [][]string
			addFields(&rows, o.of, o.of, "")
			return b.table([]string{"key", "type", "meaning"}, rows)
		}
	}
	return all
}

// csvTable returns a table with a row for each column of a CSV file, as listed in testdata/csv.txt.
// Columns that differ only in their last part, such as the percentiles of one time, share a row.
func csvTable(b *block, file string) string {
	all, err := os.ReadFile(filepath.Join("testdata", "csv.txt"))
	must(b.t, err)
	_, columns, found := strings.Cut(string(all), "== "+file+"\n")
	columns, _, _ = strings.Cut(columns, "== ")
	if !found {
		b.t.Fatalf("testdata/csv.txt has no file %q", file)
	}
	names := strings.Fields(columns)
	var rows [][]string
	for _, name := range names {
		for _, several := range []string{"_known", "_count", "errors_", "_p50_seconds", "_p50_low_seconds", "_p50_high_seconds", "_p90_seconds", "_max_seconds"} {
			stem, is := strings.CutSuffix(name, several)
			switch {
			case several == "errors_" && strings.HasPrefix(name, several) && file[0] == 't':
				name = "errors_KIND"
			case is && slices.Contains(names, stem+"_known"), is && several == "_count" && slices.Contains(names, stem+"_buckets"):
				name = stem + "_…"
			}
		}
		if stem, is := strings.CutSuffix(name, "_buckets"); is {
			name = stem + "_…"
		}
		if stem, is := strings.CutSuffix(name, "_seconds"); is && slices.Contains(names, stem+"_buckets") {
			name = stem + "_…"
		}
		if row := []string{code(name)}; len(rows) == 0 || !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == row[0] }) {
			rows = append(rows, row)
		}
	}
	return b.table([]string{"column", "meaning"}, rows)
}

// addFields adds a row for each key of a JSON object, in the order of the keys in the file. The row
// contains the key's path and type. addFields omits a trial's figures, which are in
// docs/reference/figures.md.
func addFields(rows *[][]string, root, of reflect.Type, path string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if !hasTable(f.Type) {
				addFields(rows, root, f.Type, path)
			}
			continue
		}
		if !f.IsExported() || name == "-" || name == "" || isFigure(root, path+name) {
			continue
		}
		kind, below := jsonType(root, f.Type)
		switch {
		case strings.HasPrefix(options, "omit"):
			kind += " or absent"
		case f.Type.Kind() == reflect.Pointer:
			kind += " or null"
		}
		*rows = append(*rows, []string{code(path + name), kind})
		if below != nil {
			addFields(rows, root, below, path+name+".")
		}
	}
	if of == reflect.TypeFor[record.Trial]() {
		*rows = append(*rows, []string{"`seed`", "number"}, []string{"`load`", "object"})
	}
}

// hasTable reports whether an object has its own table on the page.
func hasTable(of reflect.Type) bool {
	for _, o := range objects {
		if o.of == of {
			return true
		}
	}
	return false
}

// isFigure reports whether a key in the trial object is a figure.
func isFigure(root reflect.Type, key string) bool {
	prefix := ""
	switch root {
	case reflect.TypeFor[record.Trial]():
	case reflect.TypeFor[record.Watched]():
		prefix = "watch."
	default:
		return false
	}
	return slices.ContainsFunc(figures.All(), func(f figures.Figure) bool {
		return f.Field == prefix+key || f.Times != nil && f.Times.Field == prefix+key
	})
}

// jsonType returns the name of a value's type. If the value contains objects whose keys belong in
// the same table, jsonType also returns the type of these objects.
func jsonType(root, of reflect.Type) (name string, below reflect.Type) {
	switch of {
	case reflect.TypeFor[time.Time]():
		return "time", nil
	case reflect.TypeFor[record.Times]():
		return "[times](#times)", nil
	case reflect.TypeFor[record.Spread]():
		return "[spread](#times)", nil
	case reflect.TypeFor[record.RoundsSummary]():
		return "[rounds](#calibration)", nil
	case reflect.TypeFor[json.RawMessage]():
		return "object", nil
	case reflect.TypeFor[record.ID]():
		return "string", nil
	}
	switch of.Kind() {
	case reflect.Pointer:
		return jsonType(root, of.Elem())
	case reflect.Slice, reflect.Array:
		name, below = jsonType(root, of.Elem())
		return "list of " + name, below
	case reflect.Map:
		name, _ = jsonType(root, of.Elem())
		return "object of " + name, nil
	case reflect.Struct:
		for _, o := range objects {
			if o.of == of && of != root {
				return "[" + o.name + "](#" + strings.NewReplacer(".", "", " ", "-").Replace(o.name) + ")", nil
			}
		}
		return "object", of
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Interface:
		return "object", nil
	}
	return "number", nil
}
