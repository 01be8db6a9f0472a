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
	for _, k := range append(sortedKeys(trialKeys()), fileKeys()...) {
		if !strings.Contains(text, "\n| `"+k+"` |") {
			t.Errorf("docs/scenarios.md has no row for %s", k)
		}
	}
	_, rest, _ := strings.Cut(text, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if s := parse(t, "example.yaml", example); len(s.Trials) != 18 {
		t.Errorf("the example expands to %d trials, want 6 trials 3 times", len(s.Trials))
	}
}
