package record

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

var update = flag.Bool("update", false, "write the tables of docs/formats.md anew")

// docs/formats.md has the registry's figures, as tables of its own.
func TestFormatsHasTheRegistrysFigures(t *testing.T) {
	const path = "../../../docs/formats.md"
	b, err := os.ReadFile(path)
	must(t, err)
	text := string(b)
	for _, part := range []struct {
		name    string
		watched bool
	}{{"figures", false}, {"watch figures", true}} {
		begin, end := "<!-- "+part.name+": written by go test ./internal/results/record -update -->\n", "<!-- end of "+part.name+" -->\n"
		before, rest, ok := strings.Cut(text, begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the %s", path, part.name)
		}
		table := figureTable(part.watched)
		if old != table && !*update {
			t.Errorf("the %s in %s are not the registry's; go test -update writes them:\n%s", part.name, path, table)
		}
		text = before + begin + table + end + after
	}
	if *update {
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// figureTable is a table of the registry's figures that are fields of the
// trial's JSON object, or of watch within it.
func figureTable(watched bool) string {
	var b strings.Builder
	b.WriteString("| field | threshold | type | meaning |\n|---|---|---|---|\n")
	row := func(field, metric, kind, meaning string) {
		name, inWatch := strings.CutPrefix(field, "watch.")
		if field == "" || inWatch != watched {
			return
		}
		if metric != "" {
			metric = "`" + metric + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, metric, kind, meaning)
	}
	var last *Distribution
	for _, f := range Figures() {
		if f.Times == nil {
			kind := "number"
			switch {
			case !watched && absent(f.Field):
				kind = "number, or absent"
			case !watched && !f.Of(&Trial{}).Known:
				kind = "number or null"
			}
			row(f.Field, f.Name, kind, f.Meaning)
			continue
		}
		if last != f.Times {
			last = f.Times
			kind := "times"
			if last.Null {
				kind = "times or null"
			}
			row(last.Field, last.Prefix+"-…", kind, last.Meaning)
		}
	}
	return b.String()
}

// absent reports whether a trial's JSON object lacks the field where it is not
// known.
func absent(field string) bool {
	outer, _, _ := strings.Cut(field, ".")
	return slices.ContainsFunc(reflect.VisibleFields(reflect.TypeFor[Trial]()), func(f reflect.StructField) bool {
		return f.Tag.Get("json") == outer+",omitempty"
	})
}

// docs/formats.md says of each kind of error whether it is definite.
func TestFormatsSaysWhichErrorsAreDefinite(t *testing.T) {
	b, err := os.ReadFile("../../../docs/formats.md")
	must(t, err)
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		word := "no"
		if o.Definite() {
			word = "yes"
		}
		if row := fmt.Sprintf("\n| `%s` | %s |", o, word); !strings.Contains(string(b), row) {
			t.Errorf("it lacks a row that begins with %q", row[1:])
		}
	}
}
