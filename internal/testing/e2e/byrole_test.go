//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// On every store, each operation is attributed to a leader or a follower, even if the cluster was
// already running and the store's protocol has no terms. The exception is a proxy that was already
// running, because it does not reveal to which server it forwards.
// TestPreloadReachesEveryMemberOfEveryStore covers clusters that the run starts.
func TestLatencyByRoleOfEveryStore(t *testing.T) {
	t.Parallel()
	serves := func(st store.Store) bool { return !isProxy(st) }
	eachStore(t, serves, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		endpoints := w.upOf(t, st, exec)
		checkByRole(t, result(t, w.run(t, "bench", "put", "--store", st.Name(), "--endpoints", endpoints, "--target", "all",
			"--conns", "6", "--clients", "12", "--duration", "2s", "--dial-timeout", patience.String(), "--format", "json")))
	})
}

// upOf starts a cluster that runs until the end of the test, and returns the cluster's endpoints.
func (w *world) upOf(t *testing.T, st store.Store, exec string) (endpoints string) {
	t.Helper()
	args := []string{"cluster", "up", "--store", st.Name(), "--dir", w.path("playground")}
	if exec != "" {
		args = append(args, "--exec", exec)
	}
	up := w.run(t, args...).exits(t, exitDone)
	t.Cleanup(func() {
		w.run(t, "cluster", "down", "--store", st.Name(), "--dir", w.path("playground")).exits(t, exitDone)
	})
	endpoints, _, _ = strings.Cut(up.stdout.String(), "\n")
	return endpoints
}

func checkByRole(t *testing.T, trial *record.Trial) {
	t.Helper()
	served := map[string]uint64{}
	for _, s := range trial.ByRole {
		served[s.Role] += s.Operations
	}
	if served["leader"] == 0 || served["follower"] == 0 || served["leader"]+served["follower"] != trial.Operations {
		t.Errorf("the trial has %d operations; operations by role are %v, and the recorded roles are %+v", trial.Operations, served, trial.Roles)
	}
	t.Logf("operations by role: %v", served)
}
