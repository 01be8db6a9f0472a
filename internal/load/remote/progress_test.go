package remote

import (
	"testing"
	"time"
)

// With any number of workers, each worker reports its progress often enough for display, and all
// workers together send hardly more reports than a few workers do.
func TestProgressOfManyWorkers(t *testing.T) {
	for n := range 1001 {
		every := progressInterval(n)
		if each := time.Duration(n) * minProgressInterval / baseWorkers; every < minProgressInterval || every < each {
			t.Errorf("each of %d workers reports every %v", n, every)
		}
		if n > baseWorkers && every > time.Duration(n)*minProgressInterval/baseWorkers {
			t.Errorf("each of %d workers reports only every %v", n, every)
		}
	}
	if progressInterval(1) != minProgressInterval || progressInterval(baseWorkers) != minProgressInterval {
		t.Errorf("a few workers report every %v", progressInterval(baseWorkers))
	}
}
