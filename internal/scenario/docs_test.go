package scenario

import (
	"os"
	"strings"
	"testing"
)

// TestDocs holds docs/scenarios.md to naming every key in a table, and to an
// example that works.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, k := range append(trialKeys(byKey(Parameters(Apps()))), fileKeys()...) {
		if !strings.Contains(text, "\n| `"+k+"` |") {
			t.Errorf("docs/scenarios.md has no row for %s", k)
		}
	}
	// The other examples are trials, or keys of one.
	for _, part := range strings.Split(text, "```yaml\n")[1:] {
		part, _, _ = strings.Cut(part, "```")
		if strings.HasPrefix(part, "trials:") {
			parse(t, "example.yaml", "defaults: {store: etcd}\n"+part)
		}
	}
	_, rest, _ := strings.Cut(text, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if s := parse(t, "example.yaml", example); len(s.Trials) != 18 {
		t.Errorf("the example expands to %d trials, want 6 trials 3 times", len(s.Trials))
	}
}

// documented are the rows of the tables of parameters in docs/scenarios.md, by
// key: what stands in the columns behind it.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	within, of := false, ""
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		first := strings.TrimSpace(cells[0])
		switch {
		case !strings.HasPrefix(line, "|"):
			within = false
		case first == "key":
			within, of = true, ""
		case strings.HasPrefix(first, "key of `"):
			within, of = true, strings.Trim(strings.TrimPrefix(first, "key of"), " `")+"."
		case within:
			rows[of+strings.Trim(first, "`")] = cells[1:]
		}
	}
	return rows
}

// The tables in docs have every parameter, with the default and the range that
// its definition has.
func TestDocsOfParameters(t *testing.T) {
	rows := documented(t)
	load := fileLoad()
	stm := DefaultSTM()
	load.STM, load.Watch, load.Compact.Behind = &stm, &Watch{Streams: 1}, defaultBehind
	for _, p := range Parameters(Apps()) {
		cells, ok := rows[p.Key]
		if !ok || len(cells) < 2 {
			t.Errorf("docs/scenarios.md has no row for %s", p.Key)
			continue
		}
		if p.value == nil {
			continue
		}
		// What is needed, or follows from the rest, has no default to be told.
		follows := map[string]bool{"mix": true, "target": true, "total": true, "watch.watchers": true, "compact.every": true}
		if text := p.value.text(&load); text != "" && !follows[p.Key] && !strings.HasPrefix(strings.TrimSpace(cells[1]), "`"+text+"`") {
			t.Errorf("the default of %s is %s, and docs/scenarios.md says %q", p.Key, text, cells[1])
		}
		if bounds := p.bounds(); bounds != "" && (len(cells) < 3 || !strings.HasPrefix(strings.TrimSpace(cells[2]), bounds)) {
			t.Errorf("the range of %s is %s, and docs/scenarios.md says %q", p.Key, bounds, cells[2:])
		}
	}
}
