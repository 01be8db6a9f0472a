//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// killsEnv is an environment variable that contains the range of seeds for TestKills, as FROM-TO.
// Without the variable, the test uses four seeds, of which CI runs two.
const killsEnv = "QUORUMBENCH_TEST_KILLS"

// TestKills kills or stops, at a random time, one process of a run that uses agents. After the
// lease has expired, no process is left, and the record is readable and reports the outcome. The
// members have at least as many writes as the record.
func TestKills(t *testing.T) {
	seeds := settle.Sample(t, 2, []uint64{4, 17, 34, 35}) // one seed for each kind of victim
	if from, to, ok := strings.Cut(os.Getenv(killsEnv), "-"); ok {
		first, err := strconv.ParseUint(from, 10, 64)
		last, err2 := strconv.ParseUint(to, 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%s must be FROM-TO", killsEnv)
		}
		seeds = nil
		for seed := first; seed <= last; seed++ {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			newKill(t, seed).run(t)
		})
	}
}

// Victims: the kinds of processes that the test can kill or stop.
const (
	ofController = iota
	ofAgent      // an agent that runs a member
	ofMember
	ofWorker // an agent that runs only a worker
	victims
)

// kill describes a run in which the test kills or stops a process.
type kill struct {
	victim, machineIndex int
	signal               syscall.Signal
	began                string // text that the controller prints when the delay begins; if empty, the delay begins when the controller starts
	after                time.Duration
	machines             []*machine // three machines with a member, then two with a worker
	dir                  string     // run directory
	controller           *exec.Cmd
	output               outputBuffer
	ended                chan struct{}

	mu           sync.Mutex
	savedFolders map[string]string    // folders that contain hard links to members' files; the key is the data folder
	marks        map[string]host.Mark // the key is the data folder
}

// The load sends killsRate writes per second for killsSeconds seconds. Before the load, the preload
// writes each key once, and once more if the first attempt failed.
const (
	killsRate    = 400
	killsSeconds = 2
	killsKeys    = 500
	killsRounds  = 3
)

// maxDelay is the maximum delay. It is longer than the load and the shutdown of its cluster
// together.
const maxDelay = 3 * time.Second

// outputBuffer collects the output of one process. It is safe for concurrent use.
type outputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (h *outputBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *outputBuffer) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func newKill(t *testing.T, seed uint64) *kill {
	r := rand.New(rand.NewPCG(seed, 12))
	k := &kill{
		victim: int(seed % victims), machineIndex: r.IntN(3), signal: []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[seed/victims%2],
		began: []string{"", "starting", "put: ", "put: measuring"}[r.IntN(4)], after: time.Duration(r.Int64N(int64(maxDelay))), ended: make(chan struct{}), savedFolders: map[string]string{}, marks: map[string]host.Mark{},
	}
	var addresses, hosts []string
	for i := range 5 {
		addresses = append(addresses, fmt.Sprintf("127.0.%d.%d", 100+seed%100, 1+i))
	}
	k.machines = startMachines(t, addresses, "--heartbeat", "1s", "--lease", "2s")
	for _, m := range k.machines {
		hosts = append(hosts, fmt.Sprintf("{name: %s, address: '%s', via: agent}", m.target.Name, m.target.Address))
	}
	k.dir = filepath.Join(t.TempDir(), "run")
	k.controller = exec.Command("quorumbench", "run", "-", "--out", k.dir, "--format", "json", "--agent-certs", filepath.Dir(k.machines[0].target.CACert))
	k.controller.Stdin = strings.NewReader("hosts: [" + strings.Join(hosts, ", ") + "]" + `
name: kills
trials:
- {name: put, store: etcd, members: 3, members-on: [host1, host2, host3], workers: 2, workers-on: [host4, host5], operation: put,
   clients: 20, connections: 4, rate: ` + fmt.Sprintf("%d, duration: %ds, warmup: 0s, timeout: 2s, key-space: %d", killsRate, killsSeconds, killsKeys) + `, settings: {snapshot-count: 1000000}}
`)
	k.controller.Stderr = &k.output
	return k
}

func (k *kill) String() string {
	return fmt.Sprintf("%v to %s %d, %v after %q", k.signal, []string{"controller", "agent", "member", "worker"}[k.victim], k.machineIndex, k.after.Round(time.Millisecond), k.began)
}

func (k *kill) run(t *testing.T) {
	if err := k.controller.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = k.controller.Wait() // checkRecord checks the exit code
		close(k.ended)
	}()
	t.Cleanup(func() {
		_ = k.controller.Process.Signal(syscall.SIGCONT)
		_ = k.controller.Process.Kill()
		<-k.ended
	})
	pid := k.strike()
	if k.signal == syscall.SIGSTOP && k.victim == ofController {
		k.free(t) // the agent's sessions have expired
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	settle.Eventually(t, k.String()+": the controller ends", func() bool { return isClosed(k.ended) })
	if k.signal == syscall.SIGSTOP && pid > 0 && k.victim != ofController {
		_ = syscall.Kill(pid, syscall.SIGCONT) // fails if the member was killed in the meantime
	}
	settle.Eventually(t, k.String()+": nothing is left", func() bool { return len(k.runningProcesses()) == 0 })
	k.free(t)
	recorded := k.checkRecord(t)
	k.checkMembers(t, recorded)
	for i, m := range k.machines {
		if !isClosed(m.exited) {
			_ = m.Process.Signal(syscall.SIGTERM)
			<-m.exited
			if code := m.ProcessState.ExitCode(); code != 0 {
				t.Errorf("%v: agent %d ended with exit code %d", k, i+1, code)
			}
		}
		k.calm(t, m.said.String())
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// strike waits for the chosen time and sends the signal. While it waits, it creates links to the
// members' files. It returns the process that received the signal, or 0 if the run ended earlier.
func (k *kill) strike() (pid int) {
	var moment <-chan time.Time
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	due := false
	for {
		select {
		case <-moment:
			due = true
		case <-again.C:
		case <-k.ended:
			return 0
		}
		k.keep()
		if moment == nil && strings.Contains(k.output.String(), k.began) {
			moment = time.After(k.after)
		}
		if !due {
			continue
		}
		switch k.victim {
		case ofController:
			pid = k.controller.Process.Pid
		case ofAgent:
			pid = k.machines[k.machineIndex].Process.Pid
		case ofWorker:
			pid = k.machines[3+k.machineIndex%2].Process.Pid
		case ofMember:
			pid = k.member()
		}
		if pid > 0 {
			_ = syscall.Kill(pid, k.signal) // fails if the process has just ended
			return pid
		}
	}
}

// keep creates hard links to the members' files, so that the files survive when the cluster's data
// is removed.
func (k *kill) keep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.machines[:3] {
		for _, data := range glob(m.dir, "quorumbench-data-*") {
			var owner struct{ Mark host.Mark }
			b, err := os.ReadFile(filepath.Join(data, "owner.json"))
			if err != nil || json.Unmarshal(b, &owner) != nil {
				continue
			}
			k.marks[data] = owner.Mark
			if logs, _ := filepath.Glob(filepath.Join(data, "m*", "data", "member", "wal", "*-*.wal")); k.savedFolders[data] != "" || len(logs) == 0 {
				continue
			}
			k.savedFolders[data] = data + ".kept"
			_ = filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
				to := k.savedFolders[data] + strings.TrimPrefix(path, data)
				switch {
				case err != nil:
				case e.IsDir():
					_ = os.MkdirAll(to, 0o700)
				case e.Type().IsRegular():
					_ = os.Link(path, to)
				}
				return nil
			})
		}
	}
}

// member returns the process ID of the member to kill, or 0 if the member has not started yet.
func (k *kill) member() (pid int) {
	for data, mark := range k.marks {
		if !strings.HasPrefix(data, k.machines[k.machineIndex].dir+"/") {
			continue
		}
		for _, h := range host.FindMarked(mark, data) {
			pid = h.PID
			h.Release()
		}
	}
	return pid
}

// runningProcesses returns the processes that agents started and that are still running, including
// processes whose agent has ended.
func (k *kill) runningProcesses() (all []string) {
	k.keep()
	for data, mark := range k.marks {
		for _, h := range host.FindMarked(mark, data) {
			all = append(all, fmt.Sprint(h.PID))
			h.Release()
		}
	}
	for _, m := range k.machines {
		all = append(all, findProcessesIn(m.dir)...)
	}
	return all
}

// free waits until every agent that still runs accepts another controller.
func (k *kill) free(t *testing.T) {
	t.Helper()
	for _, m := range k.machines {
		var err error
		settle.Eventually(t, fmt.Sprintf("%v: agent %s accepts another controller", k, m.target.Name), func() bool {
			if isClosed(m.exited) {
				return true
			}
			r, dialling := agent.Dial(t.Context(), m.target)
			if err = dialling; err == nil {
				err = r.Close()
			}
			return err == nil
		})
	}
}

// calm fails the test if the output contains a panic, an internal error or a data race.
func (k *kill) calm(t *testing.T, said string) {
	t.Helper()
	for _, bad := range []string{"panic:", "goroutine ", "internal error", "DATA RACE"} {
		if strings.Contains(said, bad) {
			t.Errorf("%v: the output contains %q: %s", k, bad, said)
		}
	}
}

// checkRecord checks the controller's output, exit code and record, and returns the number of
// completed writes in the record.
func (k *kill) checkRecord(t *testing.T) (recorded uint64) {
	said, status := k.output.String(), k.controller.ProcessState
	k.calm(t, said)
	killed := k.victim == ofController && k.signal == syscall.SIGKILL && status.ExitCode() == -1
	if code := status.ExitCode(); !killed && code != command.ExitSuccess && code != command.ExitFailed {
		t.Errorf("%v: the controller ended with %v: %s", k, status, said)
	}
	run, err := record.Open(k.dir)
	if err != nil {
		if _, missing := os.Stat(filepath.Join(k.dir, "run.json")); !os.IsNotExist(missing) || !killed && status.ExitCode() != command.ExitFailed {
			t.Errorf("%v: the record: %v", k, err)
		}
		t.Logf("%v: no record: %s", k, said)
		return 0
	}
	out, err := exec.Command("quorumbench", "report", k.dir, "--format", "markdown").CombinedOutput()
	if err != nil {
		t.Errorf("%v: report: %v, %s", k, err, out)
	}
	k.calm(t, string(out))
	outcome := string(run.State) + " " + run.Failure
	for i := range run.Trials {
		trial := &run.Trials[i]
		recorded += trial.Operations
		outcome += fmt.Sprintf(", %v %v %d of %d", trial.State, trial.Verdict, trial.Operations, trial.Due)
		if rows, err := record.OpenTimeline(k.dir, trial.Folder); err == nil {
			ok := uint64(0)
			for _, row := range rows {
				if row.Phase == measure.Measured.String() {
					ok += row.OK
				}
			}
			recorded = max(recorded, ok)
		}
		if trial.Verdict.State == verdict.Valid && trial.Operations != trial.Due {
			t.Errorf("%v: the trial is valid although only %d of %d operations are recorded: %s", k, trial.Operations, trial.Due, said)
		}
		if want := trial.Verdict.State == verdict.Invalid; !killed && want && status.ExitCode() != command.ExitFailed {
			t.Errorf("%v: the trial is invalid, but the exit code is %d", k, status.ExitCode())
		}
	}
	switch {
	case killed && run.State != record.Incomplete:
		t.Errorf("%v: the controller was killed, but the record has the outcome %s", k, outcome)
	case !killed && run.State == record.Incomplete:
		t.Errorf("%v: the record is incomplete although the controller was not killed: %s", k, said)
	case run.State == record.Failed && (run.Failure == "" || status.ExitCode() != command.ExitFailed):
		t.Errorf("%v: the run failed without a reason, or with the wrong exit code %d: %s", k, status.ExitCode(), outcome)
	}
	if !killed {
		k.checkLogs(t, run)
	}
	t.Logf("%v: %v: %s\n%s", k, status, outcome, said)
	return recorded
}

// checkLogs checks that each member's log is in the record or that a note names the log's path.
func (k *kill) checkLogs(t *testing.T, run *record.Run) {
	for _, c := range run.Clusters {
		for _, m := range c.Members {
			log, err := os.ReadFile(filepath.Join(k.dir, "logs", c.ID, m.Name+".log"))
			noted := strings.Contains(strings.Join(c.Notes, "\n"), "the log of "+m.Name+" was not copied from the member's machine, where its path is ")
			if (err != nil || len(log) == 0) && !noted {
				t.Errorf("%v: the log of %s is missing (%v), and no note contains its path: %q", k, m.Name, err, c.Notes)
			}
		}
	}
}

// checkMembers starts the members on the data that the method `keep` preserved, and checks that
// they have at least the recorded writes.
func (k *kill) checkMembers(t *testing.T, recorded uint64) {
	if len(k.savedFolders) < 3 {
		if recorded > 0 {
			t.Errorf("%v: %d writes are recorded, but only %d members had started", k, recorded, len(k.savedFolders))
		}
		return
	}
	run, err := record.Open(k.dir)
	if err != nil || len(run.Clusters) == 0 {
		return // no member has written data
	}
	for data, kept := range k.savedFolders {
		if _, err := os.Stat(data); os.IsNotExist(err) {
			if err := os.Rename(kept, data); err != nil {
				t.Fatal(err)
			}
		}
		configs, _ := filepath.Glob(filepath.Join(data, "m?", "*.json"))
		if len(configs) != 1 {
			t.Fatalf("%v: the data folder %s has the configurations %v, want one", k, data, configs)
		}
		c := exec.Command("quorumbench", "member", "etcd", "--config", configs[0])
		c.Dir = filepath.Dir(configs[0])
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait() // the member was killed, so Wait returns an error
		})
	}
	var have uint64
	if recorded > 0 {
		recorded += killsKeys // before the load, the preload wrote each key
	}
	settle.Eventually(t, fmt.Sprintf("%v: the members have the %d writes", k, recorded), func() bool {
		revision, err := metric(run.Clusters[0].Members[0].Endpoint, "etcd_debugging_mvcc_current_revision")
		leader, err2 := metric(run.Clusters[0].Members[0].Endpoint, "etcd_server_has_leader")
		have = revision - 1
		return err == nil && err2 == nil && leader == 1 && have >= recorded
	})
	if most := uint64(killsRounds*killsKeys + killsRate*killsSeconds); have > most {
		t.Errorf("%v: the members have %d writes, but at most %d were sent", k, have, most)
	}
	t.Logf("%v: the members have %d writes, of which %d are recorded (including those of the preload)", k, have, recorded)
}
