package etcd

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestSignals(t *testing.T) { storetest.CheckSignals(t, New(), "testdata/signals.txt") }

func FuzzSignal(f *testing.F) { storetest.Fuzz(f, New(), "testdata/signals.txt") }

// TestElectionSignalHasTerm checks that only signals of kind Elected have a term.
func TestElectionSignalHasTerm(t *testing.T) {
	lines, names := storetest.SignalLines(t, "testdata/signals.txt")
	for i, line := range lines {
		s, _ := New().Signal(line)
		if (s.Term > 0) != (s.Kind == store.Elected) {
			t.Errorf("%s: the term is %d: %s", names[i], s.Term, line)
		}
	}
}
