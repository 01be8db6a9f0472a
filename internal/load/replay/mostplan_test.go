package replay

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The maximum memory of a plan grows with the size of the recording, within bounds.
func TestPlanLimitGrowsWithTheFile(t *testing.T) {
	for size, want := range map[int64]int{0: minPlanLimit, 1 << 20: minPlanLimit, 16 << 20: 1 << 30, 1 << 40: scenario.MaxMemory, 1<<63 - 1: scenario.MaxMemory} {
		if got := maxPlanBytes(size); got != want {
			t.Errorf("a recording of %d bytes may need %d, want %d", size, got, want)
		}
	}
}
