package analyze

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The times of an application's calls do not come from a recording.
func TestApplicationLoadIsNotLabeledRecorded(t *testing.T) {
	trial := &record.Trial{}
	trial.Arrival, trial.Rate = scenario.Recorded, new(548.0766)
	for name, want := range map[string]string{"": "open loop, recorded, 548/s", "patroni": "open loop, scheduled, 548/s"} {
		trial.Application.Name = name
		if got := load(trial); !strings.HasPrefix(got, want) {
			t.Errorf("the load is %q, want %q", got, want)
		}
	}
}
