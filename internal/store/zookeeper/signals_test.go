package zookeeper

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestSignals(t *testing.T) { storetest.CheckSignals(t, New(), "testdata/signals.txt") }

// TestElectionHasItsTerm checks that the signal of a new leader contains the leader's epoch as the
// term.
func TestElectionHasItsTerm(t *testing.T) {
	lines, reported := storetest.SignalLines(t, "testdata/signals.txt")
	for i, line := range lines {
		s, _ := New().Signal(line)
		if want := map[bool]uint64{true: 2}[s.Kind == store.Elected]; s.Term != want {
			t.Errorf("%s: the term is %d, not %d: %s", reported[i], s.Term, want, line)
		}
	}
}

func FuzzSignal(f *testing.F) { storetest.Fuzz(f, New(), "testdata/signals.txt") }
