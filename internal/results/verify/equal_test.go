package verify

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	record "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// files writes the history to n files as the event loops of a load do: each file contains the
// operations of some of the clients.
func (m *memory) files(t *testing.T, n int) *record.Set {
	t.Helper()
	var paths []string
	for i := range n {
		path := filepath.Join(t.TempDir(), record.Name(i+1))
		w, err := record.Create(path, &m.header)
		if err != nil {
			t.Fatal(err)
		}
		r := w.Recorder()
		for k := range m.ops {
			if int(m.ops[k].Session)%n == i {
				r.Add(&m.ops[k])
			}
		}
		r.Flush()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	set, err := record.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestResultsDoNotDependOnPartsFilesAndCPUs checks that the result for a history is the same for
// different numbers of parts, files and CPUs.
func TestResultsDoNotDependOnPartsFilesAndCPUs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	wrong, seeds := 0, uint64(6)
	if settle.Long() {
		seeds = 16
	}
	for seed := uint64(1); seed < seeds; seed += 2 { // odd seeds simulate a precise clock; with a coarse clock, operations with equal times would have no order
		m, _ := simulated(seed, 6000, lieKinds[int(seed/2)%len(lieKinds)], 0.003)
		want, err := Check(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wrong += len(want.WrongByKind)
		for _, of := range []struct{ files, partition, processors int }{{0, 900, 2}, {0, 2500, 1}, {1, 0, 1}, {1, 0, 4}, {3, 2500, 4}} {
			runtime.GOMAXPROCS(of.processors)
			in := Input(m)
			if of.files > 0 {
				in = m.files(t, of.files)
			}
			got, err := Check(in, Options{Partition: of.partition})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("seed %d, %+v: %s", seed, of, d)
			}
		}
	}
	if wrong == 0 {
		t.Error("no history has a violation, so that the test compares nothing")
	}
}
