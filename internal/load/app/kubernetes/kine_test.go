package kubernetes_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// TestAgainstKine sends the unchanged load to kine, which rejects any call that Kubernetes' API
// server does not send. kine does not report the versions of keys, so watchers cannot detect missed
// events. Nevertheless, the watchers must receive an event for each write.
func TestAgainstKine(t *testing.T) {
	endpoint := servers.StartKine(t)
	c := kubernetes.Config{Nodes: 5, PodsPerNode: 20, Churn: 2, Seed: 6, CompactInterval: 2 * time.Second, ListInterval: 4 * time.Second}
	_, res := send(t, endpoint, c, 8*time.Second)
	for _, call := range res.Calls {
		if call.Outcomes[kv.OK] != call.Due {
			t.Errorf("%s: some of %d due calls failed: %v %v", call.Name, call.Due, call.Outcomes, res.Measured.ErrorTexts)
		}
	}
	if w := res.Measured.Watching; w == nil || w.Expected == 0 || w.Delivered != w.Expected || w.Wrong+w.Ended+w.Foreign != 0 {
		t.Errorf("watchers received %+v", w)
	}
}
