package runner

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

// The trial after a loss gets a whole cluster: also when the member did not
// end, but stands still. A cluster that is not ours is taken as it is.
func TestAClusterThatLostAMemberIsNotWhole(t *testing.T) {
	for _, test := range []struct {
		now  running
		want bool
	}{
		{running{own: &cluster.Cluster{}}, true},
		{running{own: &cluster.Cluster{}, lost: true}, false},
		{running{lost: true}, true},
	} {
		if got := test.now.whole(); got != test.want {
			t.Errorf("ours %v, lost %v: whole is %v", test.now.own != nil, test.now.lost, got)
		}
	}
}
