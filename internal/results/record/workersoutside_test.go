package record

import (
	"math"
	"testing"
)

// If a worker has sent its part of a total before the other workers, its clients stop. This is not
// a defect.
func TestClientsOutsideTheirWorkersWindow(t *testing.T) {
	trial := Trial{Seconds: 0.5, Parts: Parts{ByWorker: []ByWorker{{Clients: 2, Seconds: 0.5}, {Clients: 2, Seconds: 0.125}, {Clients: 3, Seconds: 0.6}, {Seconds: 0.1}}}}
	if got := trial.meanInactiveClients(); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("%v clients were outside, not 1.5", got)
	}
	if got := (&Trial{Parts: Parts{ByWorker: trial.ByWorker}}).meanInactiveClients(); got != 0 {
		t.Errorf("without a window %v were outside", got)
	}
}
