package remote

import (
	"testing"
	"time"
)

// With any number of workers, each worker reports its progress often enough for display, and all
// workers together send hardly more reports than a few workers do.
func TestProgressOfManyWorkers(t *testing.T) {
	for n := range 1001 {
		every := progressOf(n)
		if each := time.Duration(n) * progressEvery / few; every < progressEvery || every < each {
			t.Errorf("each of %d workers reports every %v", n, every)
		}
		if n > few && every > time.Duration(n)*progressEvery/few {
			t.Errorf("each of %d workers reports only every %v", n, every)
		}
	}
	if progressOf(1) != progressEvery || progressOf(few) != progressEvery {
		t.Errorf("few workers report every %v", progressOf(few))
	}
}
