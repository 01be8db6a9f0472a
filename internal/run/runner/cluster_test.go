package runner

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

// If a member was lost or is suspended, the next trial gets a new cluster. A cluster that the run
// did not start is always reused.
func TestClusterWithALostMemberIsIncomplete(t *testing.T) {
	for _, test := range []struct {
		now  running
		want bool
	}{
		{running{own: &cluster.Cluster{}}, true},
		{running{own: &cluster.Cluster{}, lost: true}, false},
		{running{lost: true}, true},
	} {
		if got := test.now.allRunning(); got != test.want {
			t.Errorf("started by the run %v, lost %v: whole is %v", test.now.own != nil, test.now.lost, got)
		}
	}
}
