//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
)

// Members can listen on the loopback address of their host, to which the controller cannot connect.
// In that case the agent on the host makes the connections for the controller. For a cluster that
// was already running, the agent of the first worker makes the connections.
func TestReach(t *testing.T) {
	t.Parallel()
	if !inNetwork(t) {
		return
	}
	w := newWorld(t)
	n, err := hosts.New(hosts.AssignAddresses("there")...)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(n.Close)
	agents, err := n.Agents(os.Getenv(binaryEnv), w.path("agents"), os.Stderr, "--heartbeat", "5s", "--address", "127.0.0.1", "--reach")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name, trial string) *record.Trial {
		t.Helper()
		file := w.file(t, name+".yaml", fmt.Sprintf(`
name: %s
hosts: [{name: there, address: '%s', via: agent}]
defaults: {store: etcd, operation: put, total: 300, clients: 4, connections: 4, key-space: 50, warmup: 0s, target: leader, workers-on: [there], verify: true}
trials: [{%s}]
`, name, agents[0].Target(), trial))
		w.run(t, "run", file, "--agent-certs", w.path("agents", "certs"), "--out", w.path(name)).exits(t, exitDone)
		r, err := record.Open(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		figures.ReadTrialFiles(r, w.path(name))
		one, reported := &r.Trials[0], false
		for _, row := range one.Stores {
			_, ok := row.Metrics[store.FsyncSeconds]
			if reported = reported || ok; row.ConnectTime != 0 || row.ConnectFailure != "" {
				t.Errorf("a connection that another process opened has a connect time: %+v", row)
			}
		}
		if one.Operations != 300 || one.Errors != 0 || !reported || len(one.ByRole) != 1 || one.ByRole[0].Role != kv.Leader.String() {
			t.Errorf("%d operations, %d errors, metrics %v, roles %+v", one.Operations, one.Errors, reported, one.ByRole)
		}
		if a := one.Verification; a == nil || a.Failure != "" || len(a.WrongByKind) > 0 || len(a.Members) != one.Members {
			t.Errorf("the verification is %+v", a)
		} else {
			for i := range a.Members {
				if m := &a.Members[i]; m.Failure != "" || m.Keys != a.Members[0].Keys || m.Keys == 0 {
					t.Errorf("reading a member after the load resulted in %+v", m)
				}
			}
		}
		return one
	}
	run("own", "members: 3, members-on: [there]")

	up := exec.Command(os.Getenv(binaryEnv), "cluster", "up", "--members", "1", "--dir", w.path("playground"))
	said, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	up.Env, up.Stderr = w.env, os.Stderr
	if err := n.Hosts[0].Start(up); err != nil {
		t.Fatal(err)
	}
	endpoint := ""
	if _, err := fmt.Fscanln(said, &endpoint); err != nil {
		t.Fatal(err)
	}
	if err := up.Wait(); err != nil {
		t.Fatal(err)
	}
	running := run("running", "endpoints: ['"+strings.TrimSpace(endpoint)+"'], prefix: reached/, cleanup: true")
	if c := running.Cleanup; c == nil || c.Deleted == 0 || c.Failure != "" {
		t.Errorf("the clean-up is %+v", c)
	}
	w.run(t, "cluster", "down", "--dir", w.path("playground")).exits(t, exitDone)
	if err := hosts.Stop(agents); err != nil {
		t.Error(err)
	}
}
