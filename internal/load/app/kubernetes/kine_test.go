package kubernetes_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// TestAgainstKine sends the load as it is to kine, which refuses any call that
// Kubernetes' API server does not send. It has no versions of keys, so that what its
// watchers miss could not be told: it is told of each write all the same.
func TestAgainstKine(t *testing.T) {
	endpoint := servers.StartKine(t)
	c := kubernetes.Config{Nodes: 5, PodsPerNode: 20, Churn: 2, Seed: 6, CompactEvery: 2 * time.Second, ListEvery: 4 * time.Second}
	_, res := send(t, endpoint, c, 8*time.Second)
	for _, call := range res.Calls {
		if call.Outcomes[kv.OK] != call.Due {
			t.Errorf("%s: of %d that were due not all succeeded: %v %v", call.Name, call.Due, call.Outcomes, res.Measured.ErrorTexts)
		}
	}
	if w := res.Measured.Watching; w == nil || w.Expected == 0 || w.Delivered != w.Expected || w.Wrong+w.Ended+w.Foreign != 0 {
		t.Errorf("watchers were told %+v", w)
	}
}
