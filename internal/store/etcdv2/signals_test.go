package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestSignals(t *testing.T) { storetest.CheckSignals(t, New(), "testdata/signals.txt") }

func FuzzSignal(f *testing.F) { storetest.Fuzz(f, New(), "testdata/signals.txt") }
