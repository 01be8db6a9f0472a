package record

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

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
