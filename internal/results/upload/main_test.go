package upload

import (
	"os"
	"runtime"
	"testing"
)

// before is what ran before any test did: what packages start by themselves.
var before = make([]byte, 1<<16)

func TestMain(m *testing.M) {
	before = before[:runtime.Stack(before, true)]
	if runtime.NumGoroutine() == 1 {
		before = nil
	}
	os.Exit(m.Run())
}

// A process of quorumbench that uploads nothing, a member or a generator, has
// nothing of the stores' libraries running in it.
func TestNothingStartsByItself(t *testing.T) {
	if before != nil {
		t.Errorf("these run before anything is opened:\n%s", before)
	}
}
