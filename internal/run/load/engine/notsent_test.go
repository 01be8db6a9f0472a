package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// What could not be sent because a connection was refused says so.
func TestNotSentTellsWhyNobodyTookIt(t *testing.T) {
	const text = "no connection took it before its timeout or the window's end"
	for _, refused := range []bool{true, false} {
		b := newBench(2, 20, closed(6*secondNS))
		b.cfg.Timeout = secondNS
		b.dial = func(s *sim, conn int, _ string) error {
			if refused && conn == 0 && s.now > 3e9 && s.now < 5e9 {
				return errRefused
			}
			return nil
		}
		cut := false
		b.at = func(s *sim) {
			if s.now >= 3e9 && !cut {
				cut = true
				s.cut(0)
			}
		}
		b.run(t)
		want := ""
		if refused {
			want = text + ": " + errRefused.Error()
		}
		if got := b.res.ErrorTexts[kv.NotSent]; got != want {
			t.Errorf("refused %v: it says %q, not %q", refused, got, want)
		}
	}
}
