//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// TestLoadsStopWhereTheStoreHasNoSpace fills a running etcd up to its space quota. If a load's
// settings show that it would exceed the quota, quorumbench refuses the load. Any other load stops
// at the first operation that the store refuses for lack of space. While etcd's alarm is raised,
// quorumbench refuses every load.
func TestLoadsStopWhereTheStoreHasNoSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := etcd.New()
	launch, err := st.Launch(store.LaunchSpec{Cluster: "quota", Self: "unused", Settings: &etcd.Settings{QuotaBackendBytes: 16 << 20}, Members: servers.ReservePlaces(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	servers.InProcess(t, st, launch.Processes[0])
	endpoint := launch.Processes[0].Endpoint
	w.answers(t, endpoint)
	put := func(args ...string) *startedProgram {
		return w.run(t, append([]string{"bench", "put", "--endpoints", endpoint, "--key-space-size", "100", "--clients", "16"}, args...)...)
	}
	put("--total", "100000", "--val-size", "1024").exits(t, exitFailed).oneSentence(t, "writes at least 99.6 MiB", "has space for", "raise the quota")
	put("--rate", "10000", "--duration", "20s", "--val-size", "1024").exits(t, exitFailed).oneSentence(t, "has space for")
	w.fillsUp(t, put)
}

// TestLoadsStopWhereAnOlderStoreHasNoSpace tests an etcd that does not report its quota.
// quorumbench cannot refuse a load on such an etcd in advance; it can only stop the load.
func TestLoadsStopWhereAnOlderStoreHasNoSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := etcdv2.New()
	c := servers.Start(t, old, servers.Cluster{
		Exec:   servers.InstalledServer(t, old),
		Change: func(p *store.Process) { p.Args = append(p.Args, "--quota-backend-bytes=16777216") },
		Ready: func(ctx context.Context, endpoint string) error {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			_, err = client.Get(ctx, "ready")
			return err
		},
	})
	w.fillsUp(t, func(args ...string) *startedProgram {
		return w.run(t, append([]string{"bench", "put", "--endpoints", c.Endpoints[0], "--key-space-size", "100", "--clients", "16"}, args...)...)
	})
}

// answers waits until an etcd responds.
func (w *world) answers(t *testing.T, endpoint string) {
	t.Helper()
	eventually(t, patience, "etcd responds", func() bool {
		return w.run(t, "bench", "get", "--endpoints", endpoint, "--no-preload", "--total", "1").state.ExitCode() == exitDone
	})
}

// fillsUp runs a load until the cluster has no space left. It checks that the load stops and
// reports the reason, and that the next load is refused.
func (w *world) fillsUp(t *testing.T, put func(args ...string) *startedProgram) {
	t.Helper()
	p := put("--duration", "100s", "--val-size", "16384").exits(t, exitFailed)
	if said := p.stderr.String(); !strings.Contains(said, "ran out of space, so the load was stopped") || !strings.Contains(said, "removed ") {
		t.Errorf("stderr of the load that ran out of space is %q", said)
	}
	if out := p.stdout.String(); !strings.Contains(out, "no_space") || !strings.Contains(out, "throughput") {
		t.Errorf("stdout of the load that ran out of space is\n%s", out)
	}
	put("--total", "10").exits(t, exitFailed).oneSentence(t, "has raised the alarm NOSPACE", "disarm the alarm")
}
