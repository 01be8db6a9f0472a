package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// machine is an agent that runs in a separate process and has its own address.
type machine struct {
	*exec.Cmd
	dir    string
	target agent.Target
	exited chan struct{}
	said   bytes.Buffer // the agent's standard error; read it only after the agent has exited
}

// startMachines starts an agent at each address. The agents use the given flags, and certificates
// from `agent certs`.
func startMachines(t testing.TB, addresses []string, flags ...string) []*machine {
	t.Helper()
	certs := filepath.Join(t.TempDir(), "certs")
	if out, err := exec.Command("quorumbench", "agent", "certs", "--hosts", strings.Join(addresses, ","), "--dir", certs).CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	file := func(name string) string { return filepath.Join(certs, name) }
	var all []*machine
	for i, address := range addresses {
		m := &machine{dir: filepath.Join(t.TempDir(), "agent"), exited: make(chan struct{})}
		m.Cmd = exec.Command("quorumbench", append([]string{
			"agent", "--listen", address + ":0", "--ca", file("ca.crt"), "--cert", file(address + ".crt"), "--key", file(address + ".key"), "--dir", m.dir,
		}, flags...)...)
		m.Stderr = &m.said
		out, err := m.StdoutPipe()
		if err == nil {
			err = m.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		go func() {
			_, _ = io.Copy(io.Discard, out)
			_ = m.Wait() // the exit code does not matter
			close(m.exited)
		}()
		t.Cleanup(func() {
			_ = m.Process.Signal(syscall.SIGCONT)
			_ = m.Process.Kill()
			<-m.exited
		})
		if err != nil {
			t.Fatalf("the agent printed no address: %v", err)
		}
		m.target = agent.Target{
			Name: fmt.Sprintf("host%d", i+1), Address: strings.TrimSpace(line), CACert: file("ca.crt"), Cert: file("controller.crt"),
			Key: file("controller.key"), Version: agentVersion(),
		}
		all = append(all, m)
	}
	return all
}

func (m *machine) dial(t *testing.T) *agent.Remote {
	t.Helper()
	r, err := agent.Dial(t.Context(), m.target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // a test may already have closed the session
	return r
}

// onMachines starts a cluster of three etcd members on the agents.
func onMachines(t *testing.T, remotes []*agent.Remote) *cluster.Cluster {
	t.Helper()
	spec := cluster.Spec{Name: "run", Members: 3, Dir: filepath.Join(t.TempDir(), "data"), LogDir: filepath.Join(t.TempDir(), "logs")}
	for _, r := range remotes {
		spec.Hosts = append(spec.Hosts, r.Host())
	}
	c, err := cluster.Start(t.Context(), etcd.New(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// puts returns the number of writes that a member has applied, according to its metrics.
func puts(endpoint string) (uint64, error) { return metric(endpoint, "etcd_mvcc_put_total") }

// metric returns the value of a member's metric that has no labels.
func metric(endpoint, name string) (uint64, error) {
	res, err := http.Get("http://" + endpoint + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(b)
	if m == nil {
		return 0, fmt.Errorf("the member does not say %s", name)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	return uint64(n), err
}

func assignment(c *cluster.Cluster, total uint64) *load.Assignment {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients, l.Total, l.Duration, l.Seed = 6, 24, total, 0, 1
	if total == 0 {
		l.Duration = 10 * time.Minute
	}
	l.Complete()
	access := c.Access()
	return &load.Assignment{
		Load: l, Store: etcd.Name, Endpoints: access.Endpoints, Access: scenario.RunningCluster{Endpoints: access.Endpoints, DialTimeout: time.Minute},
	}
}

// findProcessesIn returns the processes whose command line contains a path below a folder.
func findProcessesIn(dir string) (processes []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // "/proc/[0-9]*/cmdline" would list each process's folder
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(e, "cmdline")); err == nil && strings.Contains(string(b), dir+"/") {
			processes = append(processes, e)
		}
	}
	return processes
}

// Three etcd members and two workers run behind two agents. The members apply exactly the writes
// that the workers sent. Afterwards only the logs remain.
func TestRunWithMembersAndWorkersOnAgents(t *testing.T) {
	machines := startMachines(t, []string{"127.0.0.51", "127.0.0.52"}, "--heartbeat", "10s")
	var remotes []*agent.Remote
	var workers load.Workers
	for _, m := range machines {
		r := m.dial(t)
		remotes, workers = append(remotes, r), append(workers, r.Worker())
	}
	c := onMachines(t, remotes)
	members := c.Members()
	for i, m := range members {
		at := machines[i%2]
		if !strings.HasPrefix(m.Endpoint, []string{"127.0.0.51:", "127.0.0.52:"}[i%2]) || !strings.HasPrefix(m.DataDir, at.dir+"/") || !strings.HasPrefix(m.LogFile, at.dir+"/") {
			t.Errorf("member %s has the endpoint %s, the data folder %s and the log %s", m.Name, m.Endpoint, m.DataDir, m.LogFile)
		}
		if s, err := m.Host.Sample(t.Context(), []int{m.PID}, true); err != nil || !s.Processes[0].OK || s.Machine == nil {
			t.Errorf("the host has no sample of %s: %+v, %v", m.Name, s, err)
		}
	}
	if f, err := c.Fsync(t.Context(), 3); err != nil || len(f) != 2 {
		t.Errorf("the fdatasync measurements are %+v, %v", f, err)
	}
	before, err := puts(members[0].Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	a := assignment(c, 801)
	if _, err := workers.Check(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	res, err := load.Run(t.Context(), workers, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if m := res.Measured; m.Due != 801 || m.Outcomes[kv.OK] != 801 || m.MergedCell().Response.TotalCount() != 801 || len(res.Used) != 2 {
		t.Errorf("%d operations were due, the outcomes are %v, the errors %v and the usage %+v", m.Due, m.Outcomes, m.ErrorTexts, res.Used)
	}
	if n, err := puts(members[0].Endpoint); err != nil || n-before != 801 {
		t.Errorf("the members applied %d writes (%v), want the 801 that were sent", n-before, err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, r := range remotes {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if p := findProcessesIn(machines[i].dir); len(p) > 0 {
			t.Errorf("the agent left the processes %v", p)
		}
	}
	for _, m := range members {
		if _, err := os.Stat(m.DataDir); !os.IsNotExist(err) {
			t.Errorf("the data folder %s was not removed: %v", m.DataDir, err)
		}
		if b, err := os.ReadFile(m.LogFile); err != nil || len(b) == 0 {
			t.Errorf("the log of %s has %d bytes, %v", m.Name, len(b), err)
		}
	}
	for _, m := range machines {
		if err := m.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-m.exited
		if code := m.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the agent ended with exit code %d", code)
		}
	}
}

// If an agent is killed or stopped during a load, the error names the agent, and the run reports
// the results until that time. The agent's members are lost, and none of the agent's processes
// remains.
func TestAgentWithMembersAndWorkersIsLostDuringALoad(t *testing.T) {
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(how.String(), func(t *testing.T) {
			machines := startMachines(t, []string{"127.0.0.53", "127.0.0.54"}, "--heartbeat", "1s", "--lease", "1s")
			remotes := []*agent.Remote{machines[0].dial(t), machines[1].dial(t)}
			c := onMachines(t, remotes[:1])
			defer func() { _ = c.Stop(context.Background()) }()
			job, err := remotes[1].Worker().Prepare(t.Context(), assignment(c, 0), load.Reports{})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := load.RunJob(t.Context(), job)
				ended <- err
			}()
			settle.Eventually(t, "the load runs", func() bool { return job.Progress().Done > 100 })
			if err := machines[1].Process.Signal(how); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "agent host2 at 127.0.0.54:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the load ended with: %v", err)
			}
			if done := job.Progress().Done; done <= 100 {
				t.Errorf("the progress shows %d completed operations, want more than 100", done)
			}
			if _, err := c.Status(t.Context()); err != nil {
				t.Errorf("the members on the other machine do not report a status: %v", err)
			}
		})
	}
}

// If an agent that runs only members is killed or stopped during a load, the load ends. The trial
// is invalid but keeps its results, and the reason for its verdict names the agent.
func TestAgentWithOnlyMembersIsLostDuringALoad(t *testing.T) {
	for i, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			ip := func(n int) string { return fmt.Sprintf("127.0.9%d.%d", i, n) }
			machines := startMachines(t, []string{ip(1), ip(2), ip(3)}, "--heartbeat", "1s", "--lease", "1s")
			hosts := ""
			for _, m := range machines {
				hosts += fmt.Sprintf("- {name: %s, address: '%s', via: agent}\n", m.target.Name, m.target.Address)
			}
			dir, file := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "lost.yaml")
			text := "name: lost\nhosts:\n" + hosts + `trials:
- {name: put, store: etcd, members-on: [host1, host2], workers-on: [host3], operation: put, rate: 100, connections: 4, duration: 10m, warmup: 0s, key-space: 100}
`
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := start(t, "run", file, "--out", dir, "--agent-certs", filepath.Dir(machines[0].target.CACert))
			settle.Eventually(t, "a one-second interval is recorded", func() bool {
				rows, err := record.OpenTimeline(dir, "trial-01-put")
				return err == nil && len(rows) > 0
			})
			if err := machines[1].Process.Signal(how); err != nil {
				t.Fatal(err)
			}
			if code := b.end(); code != command.ExitFailed {
				t.Errorf("exit code %d", code)
			}
			run, err := record.Open(dir)
			if err != nil || len(run.Trials) != 1 {
				t.Fatalf("%+v, %v", run, err)
			}
			trial, name := &run.Trials[0], "agent host2 at "+machines[1].target.Address+" is lost"
			said := ""
			for _, r := range trial.Verdict.Reasons {
				if r.Rule == 26 {
					said = r.Text
				}
			}
			if run.State != record.Failed || !strings.Contains(run.Failure, name) || trial.Verdict.State != verdict.Invalid || trial.Operations == 0 {
				t.Errorf("the run's state is %s (%s); the trial has %d operations and the verdict %+v", run.State, run.Failure, trial.Operations, trial.Verdict)
			}
			if !strings.HasPrefix(said, "worker or host lost: host host2 was lost with its members, and the load ended: "+name) {
				t.Errorf("the reason of R26 is %q", said)
			}
			for _, h := range trial.ByHost {
				if (h.Lost != "") != (h.Name == "host2") {
					t.Errorf("the record of host %s has the loss %q, want a loss for host2 only", h.Name, h.Lost)
				}
			}
		})
	}
}

// When an agent is killed, its members end with it and are reported as lost.
func TestMembersOfAKilledAgent(t *testing.T) {
	machines := startMachines(t, []string{"127.0.0.55"}, "--heartbeat", "10s")
	remote := machines[0].dial(t)
	c := onMachines(t, []*agent.Remote{remote})
	if err := machines[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Members() {
		if err := c.AwaitEnd(t.Context(), m.Name); err != nil {
			t.Error(err)
		}
	}
	if why := context.Cause(remote.Host().(host.Remote).Presence()); why == nil || !strings.HasPrefix(why.Error(), "agent host1 at "+machines[0].target.Address+" is lost") {
		t.Errorf("the host's loss is reported as %v", why)
	}
	settle.Eventually(t, "nothing is left", func() bool { return len(findProcessesIn(machines[0].dir)) == 0 })
	if err := c.Stop(t.Context()); err == nil || strings.Contains(err.Error(), "internal") {
		t.Errorf("stopping a cluster whose agent was killed returned: %v", err)
	}
}

// controllerEnv is an environment variable that makes the test binary a controller. The variable's
// value is the address of an agent. The controller starts members and a load on that agent, prints
// the members' endpoints, and waits to be killed.
const controllerEnv = "QUORUMBENCH_TEST_CONTROLLER"

func TestControllerToBeLost(t *testing.T) {
	words := strings.Split(os.Getenv(controllerEnv), " ")
	if len(words) != 4 {
		t.Skip("this test runs only in a process that another test starts")
	}
	m := &machine{target: agent.Target{Name: "host1", Address: words[0], CACert: words[1], Cert: words[2], Key: words[3], Version: agentVersion()}}
	r := m.dial(t)
	c := onMachines(t, []*agent.Remote{r})
	job, err := r.Worker().Prepare(t.Context(), assignment(c, 0), load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = load.RunJob(context.Background(), job) }()
	settle.Eventually(t, "the load runs", func() bool { return job.Progress().Done > 100 })
	fmt.Printf("serving %s\n", strings.Join(c.Access().Endpoints, ","))
	select {}
}

// When a controller is killed or stopped, its load ends and its members run until the lease
// expires. Then only data and logs are left, and the agent accepts the next controller.
func TestAgentCleansUpAfterALostController(t *testing.T) {
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(how.String(), func(t *testing.T) {
			m := startMachines(t, []string{"127.0.0.56"}, "--heartbeat", "1s", "--lease", "3s")[0]
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(self, "-test.run=^TestControllerToBeLost$")
			c.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), controllerEnv+"="+strings.Join([]string{m.target.Address, m.target.CACert, m.target.Cert, m.target.Key}, " "))
			c.Stderr = os.Stderr
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = c.Process.Kill()
				_, _ = io.Copy(io.Discard, out)
				_ = c.Wait() // the controller was killed, so Wait returns an error
			}()
			lines := bufio.NewScanner(out)
			endpoint := ""
			for endpoint == "" && lines.Scan() {
				if served, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
					endpoint, _, _ = strings.Cut(served, ",")
				}
			}
			if endpoint == "" {
				t.Fatal("the controller did not start")
			}
			if err := c.Process.Signal(how); err != nil {
				t.Fatal(err)
			}
			last, same := uint64(0), 0
			settle.Eventually(t, "the load has ended", func() bool {
				now, err := puts(endpoint)
				if err != nil {
					return true // the lease has expired
				}
				if now == last {
					same++
				} else {
					last, same = now, 0
				}
				return same > 20
			})
			settle.Eventually(t, "nothing is left", func() bool { return len(findProcessesIn(m.dir)) == 0 })
			data := glob(m.dir, "quorumbench-data-*")
			if len(data) == 0 {
				t.Error("the data folder was removed before the next session")
			}
			var r *agent.Remote
			settle.Eventually(t, "the agent accepts another controller", func() bool {
				r, err = agent.Dial(t.Context(), m.target)
				return err == nil
			})
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if left := glob(m.dir, "quorumbench-data-*"); len(left) > 0 {
				t.Errorf("the next session left %v", left)
			}
			if err := m.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-m.exited
			for _, dir := range data {
				if said := m.said.String(); !strings.Contains(said, "removed "+dir+", the data that controller ") {
					t.Errorf("the agent does not say that it removed %s: %s", dir, said)
				}
			}
		})
	}
}

// onlyMatch returns the only path that matches a pattern. It fails the test unless exactly one path
// matches.
func onlyMatch(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) != 1 {
		t.Fatalf("the pattern %s matches %v, want one path; %v", pattern, all, err)
	}
	return all[0]
}

// A run with members on two agents and the load on a third agent is recorded like a local run, and
// leaves only logs on the agents' machines.
func TestARunOnAgents(t *testing.T) {
	machines := startMachines(t, []string{"127.0.0.57", "127.0.0.58", "127.0.0.59"}, "--heartbeat", "10s")
	at := func(i int) string {
		return fmt.Sprintf("{name: %s, address: '%s', via: agent}", machines[i].target.Name, machines[i].target.Address)
	}
	dir := filepath.Join(t.TempDir(), "run")
	c := exec.Command("quorumbench", "run", "-", "--out", dir, "--format", "json", "--agent-certs", filepath.Dir(machines[0].target.CACert))
	c.Stdin = strings.NewReader("hosts: [" + at(0) + ", " + at(1) + ", " + at(2) + "]" + `
name: agents
trials:
- {name: put, store: etcd, members-on: [host1, host2], workers-on: [host3], operation: put, clients: 20, connections: 4, total: 600, warmup: 0s, key-space: 1000}
`)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	trial := &run.Trials[0]
	if run.State != record.Complete || trial.Operations != 600 || trial.Errors != 0 || len(run.Clusters) != 1 || len(run.Clusters[0].Members) != 3 {
		t.Errorf("%+v", run)
	}
	for i, m := range run.Clusters[0].Members {
		if want := []string{"127.0.0.57:", "127.0.0.58:"}[i%2]; !strings.HasPrefix(m.Endpoint, want) {
			t.Errorf("member %s has the endpoint %s", m.Name, m.Endpoint)
		}
		log := filepath.Join(dir, "logs", run.Clusters[0].ID, m.Name+".log")
		here, err := os.ReadFile(log)
		there, err2 := os.ReadFile(onlyMatch(t, filepath.Join(machines[i%2].dir, "*", log)))
		if err != nil || err2 != nil || len(here) == 0 || !bytes.Equal(here, there) {
			t.Errorf("the log of %s has %d bytes on the controller and %d bytes on the agent, %v, %v", m.Name, len(here), len(there), err, err2)
		}
	}
	rows, err := record.OpenMachines(dir, trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rows, func(r record.MachineRow) bool { return strings.HasPrefix(r.Name, "m") && r.FolderBytes > 0 }) {
		t.Error("no member's row has the size of its data folder")
	}
	for _, m := range machines {
		if want := "the clock of agent " + m.target.Name + " was "; !strings.Contains(stderr.String(), want) {
			t.Errorf("the text %q is missing in %s", want, &stderr)
		}
		if p := findProcessesIn(m.dir); len(p) > 0 {
			t.Errorf("the agent left the processes %v", p)
		}
		err := filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasPrefix(filepath.Base(path), "quorumbench-data-") {
				t.Errorf("%s was not removed", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// glob returns the folders below root, at any depth, whose names match the pattern.
func glob(root, pattern string) (found []string) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		if ok, _ := filepath.Match(pattern, e.Name()); ok {
			if !strings.HasSuffix(path, ".kept") {
				found = append(found, path)
			}
			return fs.SkipDir
		}
		return nil
	})
	return found
}
