package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// The test binary also runs as the server of the members.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "member" && os.Args[2] == etcd.Name {
		if err := etcd.New().RunMember(context.Background(), os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// elsewhere is a local host that claims to be on another machine.
type elsewhere struct{ *host.Local }

func (h elsewhere) Describe(ctx context.Context) (host.Description, error) {
	d, err := h.Local.Describe(ctx)
	d.Place, d.Machine.Name = host.Place{Machine: "there", Boot: "there"}, "there"
	return d, err
}

// A run has members on two hosts, one of which is another machine. It records the figures, logs and
// machines of both hosts.
func TestRunOnTwoHosts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address and do not report the usage of processes")
	}
	const file = `
name: two-hosts
defaults: {store: etcd, members: 3, clients: 24, operation: put, key-space: 200, settings: {snapshot-count: 50}}
trials:
  - {name: put, warmup: 0s, total: 1000}
`
	s, err := scenario.Parse("two.yaml", []byte(file), registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	here := host.NewLocal(nil, nil)
	r := newRun(Options{Scenario: s, Out: filepath.Join(t.TempDir(), "run"), Lookup: registry.Lookup})
	r.connectedHosts = []*connectedHost{
		{Host: scenario.Host{Name: "a"}, host: elsewhere{here.WithAddress("127.0.0.31")}},
		{Host: scenario.Host{Name: "b"}, host: here.WithAddress("127.0.0.32")},
	}
	s.Trials[0].Cluster.Hosts = []string{"a", "b"}
	dir, err := r.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Machines) != 2 || run.Machines[1].Name != "there" {
		t.Errorf("the recorded machines are %+v", run.Machines)
	}
	var at []string
	for _, m := range run.Clusters[0].Members {
		at = append(at, m.Machine)
	}
	if name := run.Machines[0].Name; !slices.Equal(at, []string{"there", name, "there"}) {
		t.Errorf("the members are on %q", at)
	}
	if d := run.Clusters[0].Durability; d == nil || d.Fdatasyncs == 0 {
		t.Errorf("the recorded durability is %+v", d)
	}
	trial := &run.Trials[0]
	if trial.SharesMachine == nil || !*trial.SharesMachine {
		t.Error("the record does not show that a member shares the generator's machine")
	}
	if trial.StoreCPUSeconds == nil {
		t.Error("the store's usage is unknown")
	}
	rows, err := record.OpenMachines(dir, trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	sampled := map[string]bool{}
	for _, r := range rows {
		sampled[r.Name] = true
	}
	for _, name := range []string{"generator", "m1", "m2", "m3", "machine", "machine there"} {
		if !sampled[name] {
			t.Errorf("%s was not sampled: %v", name, sampled)
		}
	}
	figures.ReadTrialFiles(run, dir)
	logged := map[string]bool{}
	for _, e := range trial.Events {
		if e.Line != "" {
			logged[e.Member] = true
		}
	}
	if !logged["m1"] || !logged["m2"] {
		t.Errorf("the logs of m1 and m2 on two hosts did not both cause events: %+v", trial.Events)
	}
}
