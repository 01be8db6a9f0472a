package record

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// If a worker has sent its part of the total number of operations, its clients stop, even while
// other workers still send operations. This is not a defect.
func TestClientsOutsideTheirWorkersWindow(t *testing.T) {
	trial := Trial{Seconds: 0.5, Parts: Parts{ByWorker: []ByWorker{{Clients: 2, Seconds: 0.5}, {Clients: 2, Seconds: 0.125}, {Clients: 3, Seconds: 0.6}, {Seconds: 0.1}}}}
	if got := trial.meanInactiveClients(); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("%v clients were outside, not 1.5", got)
	}
	if got := (&Trial{Parts: Parts{ByWorker: trial.ByWorker}}).meanInactiveClients(); got != 0 {
		t.Errorf("without a window %v were outside", got)
	}
}

// The CPU time of a lost worker is unknown, so the CPU time per operation is unknown, too.
func TestCPUTimePerOperationNeedsEveryWorker(t *testing.T) {
	totals := &measure.Totals{Parts: []measure.Part{{Worker: "w1"}, {Worker: "w2"}}}
	totals.Done = 1000
	var trial Trial
	if trial.setUsage(&Observed{CPUSeconds: 2}, totals); trial.CPUPerOp == nil || *trial.CPUPerOp != 2e6 {
		t.Errorf("the CPU time per operation is %v", trial.CPUPerOp)
	}
	totals.Parts[1].Lost = "the agent is gone"
	trial = Trial{}
	if trial.setUsage(&Observed{CPUSeconds: 1}, totals); trial.CPUPerOp != nil || trial.CPUSeconds != 1 {
		t.Errorf("after the loss of a worker, the CPU time per operation is %v", *trial.CPUPerOp)
	}
}
