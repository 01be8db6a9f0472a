package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/signaltest"
)

func TestSignals(t *testing.T) { signaltest.CheckSignals(t, New(), "testdata/signals.txt") }

func FuzzSignal(f *testing.F) { signaltest.Fuzz(f, New(), "testdata/signals.txt") }
