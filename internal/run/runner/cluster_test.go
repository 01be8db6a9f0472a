package runner

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/trial"
)

// If a member was lost or is suspended, the next trial gets a new cluster. A cluster that the run
// did not start is always reused.
func TestClusterWithALostMemberIsIncomplete(t *testing.T) {
	for _, test := range []struct {
		now  currentCluster
		want bool
	}{
		{currentCluster{trial: trial.Cluster{Started: &cluster.Cluster{}}}, true},
		{currentCluster{trial: trial.Cluster{Started: &cluster.Cluster{}}, mustReplace: true}, false},
		{currentCluster{mustReplace: true}, true},
	} {
		if got := test.now.allRunning(); got != test.want {
			t.Errorf("for a cluster with Started set: %v and mustReplace: %v, allRunning returned %v", test.now.trial.Started != nil, test.now.mustReplace, got)
		}
	}
}
