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
	for _, k := range append(trialKeys(parametersByKey()), fileKeys()...) {
		if !strings.Contains(text, "\n| `"+k+"` |") {
			t.Errorf("docs/scenarios.md has no row for %s", k)
		}
	}
	for _, of := range []string{
		"watchers", "streams", "connections", "watched-keys", "keys-per-watcher", "prev-kv", "key", "earlier-events", "created-in-window", // watch
		"keys", "write-percent", "isolation", "locker", // stm
	} {
		if !strings.Contains(text, "\n| `"+of+"` |") {
			t.Errorf("docs/scenarios.md has no row for %s", of)
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
