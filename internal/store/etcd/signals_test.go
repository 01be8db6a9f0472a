package etcd

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/signaltest"
)

func TestSignals(t *testing.T) { signaltest.CheckSignals(t, New(), "testdata/signals.txt") }

func FuzzSignal(f *testing.F) { signaltest.Fuzz(f, New(), "testdata/signals.txt") }

// The line with which a leader begins has its term.
func TestElectionHasItsTerm(t *testing.T) {
	lines, told := signaltest.SignalLines(t, "testdata/signals.txt")
	for i, line := range lines {
		s, _ := New().Signal(line)
		if (s.Term > 0) != (s.Kind == store.Elected) {
			t.Errorf("%s: the term is %d: %s", told[i], s.Term, line)
		}
	}
}
