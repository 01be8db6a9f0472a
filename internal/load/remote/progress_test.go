package remote

import (
	"testing"
	"time"
)

// However many workers there are, they say how far they are often enough to be shown,
// and little more often in all than a few do.
func TestProgressOfManyWorkers(t *testing.T) {
	for n := range 1001 {
		every := progressOf(n)
		if each := time.Duration(n) * progressEvery / few; every < progressEvery || every < each {
			t.Errorf("each of %d says it every %v", n, every)
		}
		if n > few && every > time.Duration(n)*progressEvery/few {
			t.Errorf("each of %d says it but every %v", n, every)
		}
	}
	if progressOf(1) != progressEvery || progressOf(few) != progressEvery {
		t.Errorf("few say it every %v", progressOf(few))
	}
}
