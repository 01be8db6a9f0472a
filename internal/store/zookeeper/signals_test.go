package zookeeper

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/signaltest"
)

func TestSignals(t *testing.T) { signaltest.CheckSignals(t, New(), "testdata/signals.txt") }

// The line with which a leader begins has its epoch.
func TestElectionHasItsTerm(t *testing.T) {
	lines, told := signaltest.SignalLines(t, "testdata/signals.txt")
	for i, line := range lines {
		s, _ := New().Signal(line)
		if want := map[bool]uint64{true: 2}[s.Kind == store.Elected]; s.Term != want {
			t.Errorf("%s: the term is %d, not %d: %s", told[i], s.Term, want, line)
		}
	}
}

func FuzzSignal(f *testing.F) { signaltest.Fuzz(f, New(), "testdata/signals.txt") }
