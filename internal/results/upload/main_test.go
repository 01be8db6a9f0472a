package upload

import (
	"os"
	"runtime"
	"testing"
)

// before holds the stacks of goroutines that packages started before the first test, or nil if
// there are none.
var before = make([]byte, 1<<16)

func TestMain(m *testing.M) {
	before = before[:runtime.Stack(before, true)]
	if runtime.NumGoroutine() == 1 {
		before = nil
	}
	os.Exit(m.Run())
}

// TestNothingStartsByItself checks that the libraries for stores start no goroutines when they are
// linked, because most processes, such as members and load generators, never upload.
func TestNothingStartsByItself(t *testing.T) {
	if before != nil {
		t.Errorf("these goroutines run before anything is opened:\n%s", before)
	}
}
