package runner

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// What is left is told of the trials that have not ended, and nothing once the
// run stops, also when it was interrupted.
func TestLeft(t *testing.T) {
	one := scenario.Trial{Load: scenario.Load{Duration: 10 * time.Second}}
	r := run{Options: Options{Scenario: &scenario.Scenario{Trials: []scenario.Trial{one, one}}}}
	each := 10*time.Second + aroundTrial
	for _, test := range []struct {
		at, ended int
		want      time.Duration
	}{{0, 0, 2*each + toStart}, {1, 0, 2 * each}, {1, 1, each}, {2, 1, each}, {2, 2, 0}, {1, 2, 0}} {
		r.at, r.ended = test.at, test.ended
		if got := r.left(); got != test.want {
			t.Errorf("%d begun and %d ended: %v are left, not %v", test.at, test.ended, got, test.want)
		}
	}
}
