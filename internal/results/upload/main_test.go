package upload

import (
	"os"
	"runtime"
	"testing"
)

// before lists the goroutines that packages started before any test.
var before = make([]byte, 1<<16)

func TestMain(m *testing.M) {
	before = before[:runtime.Stack(before, true)]
	if runtime.NumGoroutine() == 1 {
		before = nil
	}
	os.Exit(m.Run())
}

// The libraries for stores start no goroutines in processes that do not upload, such as members and
// generators.
func TestNothingStartsByItself(t *testing.T) {
	if before != nil {
		t.Errorf("these run before anything is opened:\n%s", before)
	}
}
