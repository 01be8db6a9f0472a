package registry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

var update = flag.Bool("update", false, "write the table of docs/commands.md anew")

// docs/commands.md has what each store can do, as its capabilities say it.
func TestDocsHaveTheCapabilities(t *testing.T) {
	const (
		path  = "../../../docs/commands.md"
		begin = "<!-- capabilities: written by go test ./internal/store/registry -update -->\n"
		end   = "<!-- end of capabilities -->\n"
	)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the capabilities", path)
	}
	table := capabilities()
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not the capabilities'; go test -update writes it:\n%s", path, table)
	}
	if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func capabilities() string {
	var b strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(append([]string{""}, Names()...)...)
	line(strings.Split(strings.Repeat("---,", len(Names()))+"---", ",")...)
	row := func(what string, has func(kv.Capabilities) bool) {
		cells := []string{what}
		for _, s := range All() {
			cell := "–"
			if has(s.Capabilities()) {
				cell = "yes"
			}
			cells = append(cells, cell)
		}
		line(cells...)
	}
	for k := range kv.NumKinds {
		row("`"+k.String()+"`", func(c kv.Capabilities) bool { return c.Operations[k] != "" })
	}
	for level := range kv.NumConsistencies {
		if level != kv.None {
			row(level.String()+" reads", func(c kv.Capabilities) bool { return c.Reads[level] != "" })
		}
	}
	for f := range kv.NumFeatures {
		row(f.String(), func(c kv.Capabilities) bool { return c.Has(f) })
	}
	return b.String()
}
