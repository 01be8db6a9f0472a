//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// sevenHosts lists three hosts for members and four hosts for workers.
var sevenHosts = []string{"db1", "db2", "db3", "gen1", "gen2", "gen3", "gen4"}

// hostsWithAgents contains the agents on the seven hosts, and the world of this machine.
type hostsWithAgents struct {
	*world
	agents []*hosts.Agent
}

// The program uses seven hosts in network namespaces, with an agent on each. The record of a run
// must match the operations that the members received, and the verdict must name a slow or lost
// host.
func TestSevenHosts(t *testing.T) {
	t.Parallel()
	if !inNetwork(t) {
		return
	}
	h := &hostsWithAgents{world: newWorld(t)}
	n, err := hosts.New(hosts.AssignAddresses(sevenHosts...)...)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(n.Close)
	if h.agents, err = n.Agents(os.Getenv(binaryEnv), h.path("agents"), os.Stderr, "--heartbeat", "5s"); err != nil {
		t.Fatal(err)
	}
	t.Run("counts", h.counts)
	t.Run("latencies", h.latencies)
	t.Run("slow", h.slow)
	t.Run("lost", h.lostWorker)
	if err := hosts.Stop(h.agents); err != nil {
		t.Error(err)
	}
}

// scenario writes a scenario that uses the hosts, and returns its path. The parameter `trials` is a
// text as in a scenario file.
func (h *hostsWithAgents) scenario(t *testing.T, members, trials string) string {
	t.Helper()
	text := "hosts:\n"
	for _, a := range h.agents {
		text += fmt.Sprintf("- {name: %s, address: '%s', via: agent}\n", a.Name, a.Target())
	}
	return h.file(t, "hosts.yaml", text+`
name: hosts
defaults: {store: etcd, `+members+`workers: 4, workers-on: [gen1, gen2, gen3, gen4], connections: 8, clients: 16, key-space: 100, warmup: 0s}
trials:
`+trials)
}

// onThree places members on the first three hosts.
const onThree = "members-on: [db1, db2, db3], target: all, "

// begin starts a run of the scenario with the given trials.
func (h *hostsWithAgents) begin(t *testing.T, run, members, trials string) *startedProgram {
	t.Helper()
	return h.start(t, "run", h.scenario(t, members, trials), "--agent-certs", h.path("agents", "certs"), "--out", h.path(run))
}

// recorded checks that a run ended in the given state and that its counts are consistent, and
// returns the run.
func (h *hostsWithAgents) recorded(t *testing.T, name string, state record.State) *record.Run {
	t.Helper()
	run, err := record.Open(h.path(name))
	if err != nil {
		t.Fatal(err)
	}
	if run.State != state || run.Finished == nil || len(run.Problems) > 0 {
		t.Errorf("the run in %s has the state %s (%s), finished %v, problems %q", name, run.State, run.Failure, run.Finished, run.Problems)
	}
	for i := range run.Trials {
		if state == record.Complete {
			checkBooks(t, &run.Trials[i])
		}
	}
	return run
}

// host returns the agent on the host with the given name.
func (h *hostsWithAgents) host(name string) *hosts.Agent {
	return h.agents[slices.Index(sevenHosts, name)]
}

// counts compares the number of writes that the members received with the number of writes that all
// workers recorded. The second trial keeps the cluster running while the test queries the members.
func (h *hostsWithAgents) counts(t *testing.T) {
	const total = 803
	p := h.begin(t, "counts", onThree, fmt.Sprintf(`
- {name: put, operation: put, total: %d, preload: false}
- {name: get, operation: get, rate: 100, duration: 3s, preload: false}
`, total))
	p.measuring(t, h.path("counts"), "trial-02-get")
	going, err := record.Open(h.path("counts"))
	if err != nil {
		t.Fatal(err)
	}
	members := going.Clusters[0].Members
	var endpoints []string
	for i, m := range members {
		if endpoints = append(endpoints, m.Endpoint); !strings.HasPrefix(m.Endpoint, h.agents[i].Address+":") {
			t.Errorf("member %s has the endpoint %s", m.Name, m.Endpoint)
		}
	}
	if seen := agents.ServedPuts(t, endpoints); seen != total || len(members) != 3 {
		t.Errorf("%d members received %d writes, want %d writes", len(members), seen, total)
	}
	p.exits(t, exitDone)
	run := h.recorded(t, "counts", record.Complete)
	put := byName(t, run, "put")
	if put.Operations != total || put.Errors != 0 || len(put.ByWorker) != 4 || len(run.Hosts) != len(sevenHosts) {
		t.Errorf("the trial has %d operations, %d errors and %d workers on %d hosts", put.Operations, put.Errors, len(put.ByWorker), len(run.Hosts))
	}
	sum := uint64(0)
	for i, w := range put.ByWorker {
		sum += w.Operations
		if host := sevenHosts[3+i]; w.Name != fmt.Sprintf("w%d on %s", i+1, host) || w.Machine != host || w.Operations < total/4 || w.Operations > total/4+1 {
			t.Errorf("worker %s on machine %s completed %d of %d operations", w.Name, w.Machine, w.Operations, total)
		}
	}
	if sum != total {
		t.Errorf("the workers completed %d of %d operations", sum, total)
	}
	files, err := record.OpenTrial(h.path("counts"), put.Folder)
	if err != nil {
		t.Fatal(err)
	}
	checkHlog(t, put, files)
	checkTimeline(t, put, files)
	h.noDataIsLeft(t)
	h.union(t)
}

// noDataIsLeft checks that no data and no processes of the members remain on their hosts.
func (h *hostsWithAgents) noDataIsLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(h.path("agents", "db*", "*", "*", "quorumbench-data-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("these files were not removed: %v, %v", left, err)
	}
	if members := h.members(); len(members) > 0 {
		t.Errorf("these members are still running: %v", members)
	}
}

// union checks that each bin of the merged histogram is the sum of the same bins in the workers'
// histograms.
func (h *hostsWithAgents) union(t *testing.T) {
	t.Helper()
	endpoints, workers := h.dialled(t)
	heard, ears := agents.CountResults(workers)
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients, l.KeySpace, l.Total, l.Duration, l.Seed, l.Workers = 13, 29, 100, 803, 0, 7, 4
	l.Complete()
	a := &load.Assignment{Load: l, Store: etcd.Name, Endpoints: endpoints, Access: scenario.RunningCluster{Endpoints: endpoints, DialTimeout: time.Minute}}
	before := agents.ServedPuts(t, endpoints)
	res, err := load.Run(t.Context(), heard, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Measured
	if seen := agents.ServedPuts(t, endpoints) - before; m.Due != l.Total || m.Succeeded() != l.Total || seen != l.Total {
		t.Errorf("%d operations were due, want %d; %d succeeded, and the members received %d", m.Due, l.Total, m.Succeeded(), seen)
	}
	var union *measure.Histogram
	for i, o := range ears {
		union = measure.Add(union, o.Response)
		if part := &m.Parts[i]; part.Due != o.Due {
			t.Errorf("worker %d had %d due operations in the result, but its reports contained %d", i+1, part.Due, o.Due)
		}
	}
	if !reflect.DeepEqual(union.Export().Counts, m.MergedCell().Response.Export().Counts) {
		t.Error("the merged histogram is not the union of the workers'")
	}
}

// dialled opens a session with every agent, and starts a cluster on the members' hosts. The cluster
// runs until the test ends.
func (h *hostsWithAgents) dialled(t *testing.T) (endpoints []string, workers load.Workers) {
	t.Helper()
	said := h.run(t, "version").exits(t, exitDone).stdout.String()
	version := strings.TrimPrefix(strings.SplitN(said, "\n", 2)[0], "quorumbench ")
	certs := func(name string) string { return h.path("agents", "certs", name) }
	spec := cluster.Spec{Name: "union", Members: 3, Self: os.Getenv(binaryEnv), Dir: h.path("union", "data"), LogDir: h.path("union", "logs")}
	for i, a := range h.agents {
		r, err := agent.Dial(t.Context(), agent.Target{
			Name: a.Name, Address: a.Target(), CACert: certs("ca.crt"), Cert: certs("controller.crt"), Key: certs("controller.key"), Version: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		if i < 3 {
			spec.Hosts = append(spec.Hosts, r.Host())
		} else {
			workers = append(workers, r.Worker())
		}
	}
	c, err := cluster.Start(t.Context(), etcd.New(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c.Access().Endpoints, workers
}

// latencies checks that four workers measure the same latency as one worker. The server responds
// after 20 ms.
func (h *hostsWithAgents) latencies(t *testing.T) {
	endpoint := h.nullServer(t, "--listen", hosts.OwnAddress+":0", "--script", "delay=20ms")
	attempt := 0
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		attempt++
		run := fmt.Sprintf("latencies%d", attempt)
		h.begin(t, run, "", fmt.Sprintf(`
- {name: four, operation: put, endpoints: [%[1]s], rate: 400, duration: 2s}
- {name: one, operation: put, endpoints: [%[1]s], rate: 400, duration: 2s, workers: 1, workers-on: [gen1]}
`, endpoint)).exits(t, exitDone)
		recorded := h.recorded(t, run, record.Complete)
		four, one := byName(t, recorded, "four"), byName(t, recorded, "one")
		if len(four.ByWorker) != 4 || one.ByWorker != nil {
			t.Fatalf("the trials have %d and %d workers, want 4 and none", len(four.ByWorker), len(one.ByWorker))
		}
		for _, p := range []float64{10, 50} {
			checkBetween(r, fmt.Sprintf("one worker's p%v in ms", p), one.ResponseTime.Percentile(p).NS/1e6, 20, 24)
			checkBetween(r, fmt.Sprintf("p%v of four workers, relative to one worker", p), four.ResponseTime.Percentile(p).NS/one.ResponseTime.Percentile(p).NS, 0.9, 1.1)
		}
	})
}

// slow checks that the verdict names a worker whose host can send only a tenth of what the other
// hosts send.
func (h *hostsWithAgents) slow(t *testing.T) {
	const others = 1_000_000 // bytes per second
	for _, a := range h.agents[3:] {
		limit := uint64(others)
		if a.Name == "gen4" {
			limit /= 10
		}
		if err := a.Limit(limit); err != nil {
			t.Skipf("the traffic of a host cannot be limited here: %v", err)
		}
	}
	defer func() {
		for _, a := range h.agents[3:] {
			if err := a.Unlimit(); err != nil {
				t.Error(err)
			}
		}
	}()
	attempt := 0
	settle.RetryMeasurement(t, func(r settle.Reporter) { // the other workers may have to wait for a CPU
		attempt++
		name := fmt.Sprintf("slow%d", attempt)
		h.begin(t, name, onThree, `
- {name: put, operation: put, value-size: 4096, duration: 5s, warmup: 1s}
`).exits(t, exitDone)
		put := byName(t, h.recorded(t, name, record.Complete), "put")
		if said := rule(put, 28); !strings.Contains(said, "worker w4 on gen4 completed ") {
			t.Errorf("gen4 sends a tenth of the other workers' load, but the verdict is %v", put.Verdict)
		} else if strings.Count(said, "a client of worker") > 1 {
			r.Errorf("the verdict also names other workers: %s", said)
		}
	})
}

// lostWorker kills the agent on a host during a load. The trial must end, keep its results and be
// invalid, and the verdict must name the host.
func (h *hostsWithAgents) lostWorker(t *testing.T) {
	p := h.begin(t, "lost", onThree, `
- {name: put, operation: put, rate: 200, duration: 10m}
`)
	p.measuring(t, h.path("lost"), "trial-01-put")
	lost := h.host("gen2")
	if err := lost.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-lost.Ended
	p.exits(t, exitFailed)
	run := h.recorded(t, "lost", record.Failed)
	put := byName(t, run, "put")
	name := "agent gen2 at " + lost.Target() + " is lost"
	if !strings.Contains(rule(put, 26), "worker w2 on gen2 was lost") || !strings.Contains(rule(put, 26), name) || rule(put, 4) != "" || !strings.Contains(run.Failure, name) {
		t.Errorf("the run's failure is %q, and the verdict is %v", run.Failure, put.Verdict)
	}
	for i, w := range put.ByWorker {
		if w.Operations == 0 || (w.Lost != "") != (i == 1) {
			t.Errorf("worker %s has %d operations, and its loss is %q", w.Name, w.Operations, w.Lost)
		}
	}
	if put.Operations == 0 || !strings.Contains(p.stdout.String(), "invalid") {
		t.Errorf("the record has %d operations, and the output is\n%s", put.Operations, p.stdout.String())
	}
	h.noDataIsLeft(t)
}
