//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// fleet is a set of agents, each in a separate process with its own address. If the set is empty,
// the controller's process runs the members and the load.
type fleet struct {
	machines []*machine
	b        testing.TB
}

func newFleet(b testing.TB, n int, flags ...string) *fleet {
	b.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("127.1.%d.%d", n, 1+i)
	}
	return &fleet{startMachines(b, addresses, flags...), b}
}

// run executes trials in which the agents are called host1, host2 and so on. It returns the record,
// the run directory, and the controller's maximum resident memory in bytes.
func (f *fleet) run(trials string) (run *record.Run, dir string, rss int64) {
	f.b.Helper()
	text, args := "name: agents\n", []string{"run", "-"}
	if len(f.machines) > 0 {
		text += "hosts:\n"
		args = append(args, "--agent-certs", filepath.Dir(f.machines[0].target.CACert))
	}
	for _, m := range f.machines {
		text += fmt.Sprintf("- {name: %s, address: '%s', via: agent}\n", m.target.Name, m.target.Address)
	}
	dir = filepath.Join(f.b.TempDir(), "run")
	c := exec.Command("quorumbench", append(args, "--out", dir)...)
	c.Stdin = strings.NewReader(text + trials)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	f.b.Log(said.String())
	if err != nil {
		f.b.Fatal(err)
	}
	if run, err = record.Open(dir); err != nil {
		f.b.Fatal(err)
	}
	return run, dir, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// stop ends all agents. It fails the test if an agent leaves processes, or if an agent's exit code
// is not 0.
func (f *fleet) stop() {
	f.b.Helper()
	for _, m := range f.machines {
		_ = m.Process.Signal(syscall.SIGTERM)
	}
	for _, m := range f.machines {
		<-m.exited
		if code := m.ProcessState.ExitCode(); code != 0 {
			f.b.Errorf("agent %s ended with exit code %d", m.target.Name, code)
		}
		if p := findProcessesIn(m.dir); len(p) > 0 {
			f.b.Errorf("agent %s left the processes %v", m.target.Name, p)
		}
	}
}

// together returns a trial in which each of n agents sends 20 operations per second to a null
// server for five seconds.
func together(endpoint string, n int) (trials string) {
	return fmt.Sprintf(`trials:
- {name: put, store: etcd, operation: put, endpoints: [%s], workers: %d, connections: %d, rate: %d, duration: 5s, warmup: 2s, key-space: 1000}
`, endpoint, n, 2*n, 20*n)
}

// seldomBeats returns flags that lengthen the heartbeat interval if n agents are enough to overload
// the machine while they prepare their loads.
func seldomBeats(n int) (flags []string) {
	if n > 10*runtime.NumCPU() {
		flags = []string{"--heartbeat", "20s"}
	}
	return flags
}

// agentsEnv is an environment variable that sets the number of agents in
// TestManyAgentsOnOneMachine.
const agentsEnv = "QUORUMBENCH_TEST_AGENTS"

// controllerMost is the memory limit in bytes for a controller with a hundred agents.
const controllerMost = 300e6

// Many agents share a load. Each agent sends its part of the load, the record names the agent that
// began last, the controller needs little memory, and no process remains.
func TestManyAgentsOnOneMachine(t *testing.T) {
	n := 12
	if settle.Long() {
		n = 30
	}
	if text := os.Getenv(agentsEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s must be a number: %v", agentsEnv, err)
		}
	}
	f := newFleet(t, n, seldomBeats(n)...)
	run, _, rss := f.run(together(startNullServer(t), n))
	trial := &run.Trials[0]
	if run.State != record.Complete || trial.Due != uint64(100*n) || trial.Operations != trial.Due || len(trial.ByWorker) != n || len(trial.ByHost) != n {
		t.Fatalf("the run's state is %s; %d of %d operations were done by %d workers on %d hosts", run.State, trial.Operations, trial.Due, len(trial.ByWorker), len(trial.ByHost))
	}
	for i, w := range trial.ByWorker {
		if want := fmt.Sprintf("w%d on host%d", i+1, i+1); w.Name != want || w.Operations != 100 || w.Lost != "" {
			t.Errorf("worker %s, want %s, did %d operations and has the loss reason '%s'", w.Name, want, w.Operations, w.Lost)
		}
	}
	if last := trial.LastToBegin(); last == nil || last.StartDelayNS != *trial.StartLatestNS || *trial.StartSpreadNS > *trial.StartLatestNS || *trial.MergedAfterNS <= 0 {
		t.Errorf("the last worker to begin was %+v, and half of the workers began within %d ns", last, *trial.StartSpreadNS)
	}
	if rss > controllerMost {
		t.Errorf("the controller used %d bytes of memory", rss)
	}
	f.stop()
}

// BenchmarkAgentsTogether lets many agents on this machine share a load on a null server. It
// reports the time between the first and the last agent's start, the time from the end of the
// window until all results are merged, and the controller's memory.
func BenchmarkAgentsTogether(b *testing.B) {
	for _, n := range []int{4, 20, 50, 100} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			f := newFleet(b, n, seldomBeats(n)...)
			endpoint := startNullServer(b)
			b.ResetTimer()
			for range b.N {
				run, dir, rss := f.run(together(endpoint, n))
				t := &run.Trials[0]
				if len(t.ByWorker) != n || t.Due != uint64(100*n) || t.Errors > 0 {
					b.Fatalf("%d workers had %d operations due and %d errors", len(t.ByWorker), t.Due, t.Errors)
				}
				b.Logf("the last worker to begin was %s", t.LastToBegin().Name)
				b.ReportMetric(float64(*t.StartSpreadNS)/1e6, "begin-ms-p50")
				b.ReportMetric(float64(*t.StartLatestNS)/1e6, "begin-ms-max")
				b.ReportMetric(float64(*t.MergedAfterNS)/1e6, "merged-ms")
				b.ReportMetric(float64(rss)/(1<<20), "controller-MiB")
				agents := 0.0
				for _, m := range f.machines {
					agents += processors(b, dir, t, record.OtherGenerator(m.target.Name))
				}
				b.ReportMetric(1e3*agents/float64(n), "agent-ms/s")
				b.ReportMetric(1e3*processors(b, dir, t, record.GeneratorName), "controller-ms/s")
			}
			f.stop()
		})
	}
}

// pairs runs two trials alternately and returns the figures from all repeats. The parameters `one`
// and `other` are the YAML definitions of the two trials.
func (f *fleet) pairs(repeats int, one, other string, figures map[string]func(dir string, t *record.Trial) float64) (all map[string][2][]float64) {
	f.b.Helper()
	run, dir, _ := f.run(fmt.Sprintf("defaults: {store: etcd, repeats: %d, warmup: 1s, key-space: 1000}\ntrials:\n- {name: one, %s}\n- {name: other, %s}\n", repeats, one, other))
	all = map[string][2][]float64{}
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Errors > 0 {
			f.b.Errorf("%d errors in %s", t.Errors, t.Name)
		}
		for name, of := range figures {
			both := all[name]
			side := 0
			if t.Name == "other" {
				side = 1
			}
			both[side] = append(both[side], of(dir, t))
			all[name] = both
		}
	}
	return all
}

// ratio divides the figure of the second trial by the figure of the first trial, and reports the
// quotient with its 95 % confidence interval.
func ratio(b *testing.B, name string, of [2][]float64) {
	b.Helper()
	r, ok := stats.RatioOf(stats.UndisturbedRepeats(of[1]), stats.UndisturbedRepeats(of[0]))
	if !ok {
		b.Fatalf("the ratio of %s cannot be computed from %v", name, of)
	}
	i := r.Interval(stats.Level)
	b.ReportMetric(i.Value, name+"-ratio")
	b.ReportMetric(i.Low, name+"-ratio-low")
	b.ReportMetric(i.High, name+"-ratio-high")
	b.Logf("%s: the ratio of the second trial to the first is %.3f (%.3f to %.3f); the first trial has %.4g, the second %.4g", name, i.Value, i.Low, i.High, of[0], of[1])
}

// BenchmarkAgentsCost compares, in pairs, the load generator's CPU time per operation in the
// controller's process (first trial) and on an agent (second trial).
func BenchmarkAgentsCost(b *testing.B) {
	for _, of := range []struct {
		store    string
		endpoint func() string
		rate     int
	}{
		{"null", func() string { return startNullServer(b) }, 20_000},
		{"etcd", func() string { return embedded.Etcd(b) }, 5_000},
	} {
		b.Run(of.store, func(b *testing.B) {
			f := newFleet(b, 1)
			load := fmt.Sprintf("operation: get, consistency: local, endpoints: [%s], connections: 4, rate: %d, duration: 3s", of.endpoint(), of.rate)
			b.ResetTimer()
			for range b.N {
				got := f.pairs(10, load, load+", workers-on: [host1]", map[string]func(string, *record.Trial) float64{
					"cpu": func(_ string, t *record.Trial) float64 { return *t.CPUPerOp },
					"controller": func(dir string, t *record.Trial) float64 {
						return 1e9 * processors(b, dir, t, record.GeneratorName) / t.PerSecond
					},
				})
				ratio(b, "cpu", got["cpu"])
				b.Logf("CPU time of the controller in ns per operation: %.4g with its own generator, %.4g with an agent", got["controller"][0], got["controller"][1])
			}
			f.stop()
		})
	}
}

// processors returns the mean number of CPUs that a process used in a trial's measurement window,
// or 0 if this number is unknown. The parameter `name` is the process's name in machines.csv.
func processors(b *testing.B, dir string, t *record.Trial, name string) float64 {
	b.Helper()
	rows, err := record.OpenMachines(dir, t.Folder)
	if err != nil {
		b.Fatal(err)
	}
	var first, last *record.MachineRow
	for i := range rows {
		r := &rows[i]
		if r.Name != name || r.Time.Before(*t.Opened) || r.Time.After(t.Opened.Add(time.Duration(t.Seconds*1e9))) {
			continue
		}
		if first == nil {
			first = r
		}
		last = r
	}
	if first == nil || first == last {
		return 0
	}
	return (last.CPU() - first.CPU()) / last.Time.Sub(first.Time).Seconds()
}

// BenchmarkAgentsLatencies compares, in pairs, the latencies of three etcd members as one worker
// measures them (first trial) and as four workers measure them (second trial). All members and
// workers run on agents. The difference between repeats is noise.
func BenchmarkAgentsLatencies(b *testing.B) {
	f := newFleet(b, 7)
	load := "operation: put, members-on: [host1, host2, host3], connections: 8, rate: 400, duration: 3s"
	at := func(p float64) func(string, *record.Trial) float64 {
		return func(_ string, t *record.Trial) float64 { return t.ResponseTime.Percentile(p).NS }
	}
	b.ResetTimer()
	for range b.N {
		got := f.pairs(10, load+", workers-on: [host4]", load+", workers: 4, workers-on: [host4, host5, host6, host7]",
			map[string]func(string, *record.Trial) float64{"p10": at(10), "p50": at(50), "p90": at(90)})
		for _, name := range []string{"p10", "p50", "p90"} {
			ratio(b, name, got[name])
		}
	}
	f.stop()
}
