package upload

import (
	"os"
	"runtime"
	"testing"
)

// before lists the goroutines that ran before any test, which packages start.
var before = make([]byte, 1<<16)

func TestMain(m *testing.M) {
	before = before[:runtime.Stack(before, true)]
	if runtime.NumGoroutine() == 1 {
		before = nil
	}
	os.Exit(m.Run())
}

// The stores' libraries run nothing in processes that upload nothing, such as members and
// generators.
func TestNothingStartsByItself(t *testing.T) {
	if before != nil {
		t.Errorf("these run before anything is opened:\n%s", before)
	}
}
