package runner

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

// After a member was lost, even if it is only suspended, the next trial gets a new cluster. A
// cluster that the run did not start is used as it is.
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
