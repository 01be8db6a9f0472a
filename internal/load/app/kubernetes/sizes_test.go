package kubernetes

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The sizes of values are the medians in the table of docs/explanation/applications.md. TestSizes
// in internal/testing/e2e/kubernetes measures these medians.
func TestSizesAreThePublishedMedians(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "explanation", "applications.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[Resource]string{Leases: "leases of nodes"}
	published := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 9 {
			published[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[4])
		}
	}
	for r := range NumResources {
		name := r.String()
		if other, ok := names[r]; ok {
			name = other
		}
		if want := strconv.Itoa(r.ValueSize()); published[name] != want {
			t.Errorf("%s have %s bytes in the load, and a median of %q in docs/explanation/applications.md", name, want, published[name])
		}
	}
}
