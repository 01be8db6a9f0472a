package figures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

var noon = runs.Noon

// conditions returns the conditions of an open loop of puts.
func conditions() record.Conditions {
	rate := 1000.0
	return record.Conditions{
		Number: 1, Name: "put-leader", Repeat: 1, Repeats: 1, Store: "etcd", Operation: "put", Members: 3, Rate: &rate, Loops: 2,
		Load: scenario.Load{Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Connections: 10, Arrival: scenario.Constant, ValueSize: 256, KeySpace: 1000},
	}
}

// newRun begins a run in a temporary folder.
func newRun(t *testing.T) *record.Writer {
	t.Helper()
	w, err := record.Create(t.TempDir(), "quick", noon, record.Run{Name: "quick", Seed: 42, Planned: 1})
	must(t, err)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(b)
}
