package replay

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The maximum memory of a plan grows with the size of the recording, within bounds.
func TestPlanLimitGrowsWithTheFile(t *testing.T) {
	for size, want := range map[int64]int{0: leastPlan, 1 << 20: leastPlan, 16 << 20: 1 << 30, 1 << 40: scenario.MaxMemory, 1<<63 - 1: scenario.MaxMemory} {
		if got := mostPlan(size); got != want {
			t.Errorf("a recording of %d bytes may need %d, want %d", size, got, want)
		}
	}
}
