//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// A generator that was stopped detects its own pauses, in closed and in open loops.
func TestStoppedGeneratorIsNeverValid(t *testing.T) {
	const stop = 400 * time.Millisecond
	open, closed := []string{"--rate", "1000", "--conns", "4"}, []string{"--conns", "4", "--clients", "8"}
	for name, tt := range map[string]struct {
		args []string
		busy bool // unrelated programs keep the CPUs busy
	}{
		"open loop": {open, false}, "closed loop": {closed, false}, "closed loop on a busy machine": {closed, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.busy {
				keepCPUsBusy(t)
			}
			endpoint := w.nullServer(t, "--script", "delay=2ms")
			dir := w.path("run")
			p := w.start(t, append([]string{"bench", "put", "--endpoints", endpoint, "--duration", "4s", "--out", dir, "--format", "json"}, tt.args...)...)
			p.awaitText(t, "measuring")
			resume := pause(t, p.pid)
			since := time.Now()
			eventually(t, patience, "the generator was stopped long enough", func() bool { return time.Since(since) >= stop })
			resume()
			trial := result(t, p.exits(t, exitDone))
			// The verdict's reason states how wrong the figures may be. It attributes the error to
			// the stop, unless the machine withheld more time from the generator.
			if trial.Verdict.State == verdict.Valid || !slices.ContainsFunc([]int{5, 7, 10}, func(number int) bool {
				return strings.Contains(rule(trial, number), " % too high")
			}) {
				t.Errorf("the verdict is %+v", trial.Verdict)
			}
			checkBetween(t, "the longest pause", time.Duration(trial.LongestPauseNS), stop*9/10, 10*stop)
			checkBetween(t, "the longest gap in seconds", trial.LongestGap, 0.9*stop.Seconds(), 10*stop.Seconds())
			if trial.Lateness == nil {
				// For a tenth of the window, the clients waited only for the stopped generator,
				// whether or not other processes used the CPUs.
				checkBetween(t, "the share of throughput that the overhead may cost", trial.Overhead.Effect.Throughput, 0.05, 1)
				return
			}
			// A tenth of all operations became due during the stop, and waited between 0 and 400
			// ms.
			checkBetween(t, "p99 of the response time", time.Duration(trial.ResponseTime.Percentile(99).NS), stop*8/10, 10*stop)
			checkBetween(t, "p99 of the lateness", time.Duration(trial.Lateness.Percentile(99).NS), stop*8/10, 10*stop)
			checkBetween(t, "operations due", trial.Due, 4000, 4000)
		})
	}
}

// The server responds after 20 ms, and to every 50th operation after 300 ms. Therefore p50 and p99
// do not show that the generator is stopped for 130 ms of each second. The verdict must state that
// p90 and p95 may be several times too high, and the report must mark them.
func TestStopsThatMoveP90AreReported(t *testing.T) {
	const stop, period = 130 * time.Millisecond, time.Second
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=20ms; delay=300ms every 50")
	dir := w.path("run")
	p := w.start(t, "bench", "put", "--endpoints", endpoint, "--rate", "1000", "--conns", "4", "--duration", "5s", "--out", dir, "--format", "json")
	p.awaitText(t, "measuring")
	for range 6 {
		begin := time.Now()
		_ = syscall.Kill(p.pid, syscall.SIGSTOP) // fails if the process has ended
		eventually(t, patience, "the generator was stopped long enough", func() bool { return time.Since(begin) >= stop })
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
		eventually(t, patience, "the generator ran long enough", func() bool { return time.Since(begin) >= period })
	}
	trial := result(t, p.exits(t, exitDone))
	if p90 := trial.ResponseTime.Percentile(90).NS; p90 < 2*20e6 {
		t.Fatalf("p90 is %v ns, so the stops did not increase it", p90)
	}
	for _, name := range []string{"p90", "p95", "mean"} {
		if trial.Verdict.FigureState(name) != verdict.Suspect {
			t.Errorf("%s is %s: %+v", name, trial.Verdict.FigureState(name), trial.Verdict)
		}
	}
	checkBetween(t, "the possible error of p90", trial.Verdict.Effect.ForFigure("p90"), 1, 100)
	checkBetween(t, "the possible error of an open loop's throughput", trial.Verdict.Effect.ForFigure("ops"), 0, 0)
	text := w.run(t, "report", dir).exits(t, exitDone).stdout.String()
	if !strings.Contains(text, " ms?") || !strings.Contains(text, "? This figure is one of the reasons for the verdict.") {
		t.Errorf("the report does not mark the figures that the verdict doubts:\n%s", text)
	}
}

// If a control group limits the generator's CPU time, the trial is never valid, and the record
// contains the limit.
func TestThrottledGeneratorIsNeverValid(t *testing.T) {
	const limit = 0.1
	for name, group := range map[string]func(*testing.T) string{"version 1": cgroupV1, "version 2": cgroupV2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			endpoint := w.nullServer(t)
			procs := group(t)
			// The shell joins the group and then replaces itself with the program.
			p := w.startWith(t, "/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, procs, os.Getenv(binaryEnv),
				"bench", "put", "--endpoints", endpoint, "--duration", "2s", "--conns", "4", "--clients", "64", "--format", "json", "--out", w.path("run"))
			p.end(t)
			trial := result(t, p)
			if trial.Verdict.State == verdict.Valid || rule(trial, 6) == "" {
				t.Errorf("the verdict is %+v", trial.Verdict)
			}
			if trial.ThrottledNS == nil || *trial.ThrottledNS == 0 {
				t.Error("the result does not contain the time for which the generator was throttled")
			}
			run := opened(t, w.path("run"))
			if got := run.Machines[0].CPULimit; got == nil || *got != limit {
				t.Errorf("the limit of %v processors is recorded as %v", limit, show(got))
			}
			checkExit(t, p, trial)
		})
	}
}

func show(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprint(*x)
}

// checkExit checks that the exit code matches the verdict.
func checkExit(t *testing.T, p *startedProgram, trial *record.Trial) {
	t.Helper()
	want := exitDone
	if trial.Verdict.State == verdict.Invalid {
		want = exitFailed
	}
	p.exits(t, want)
}

// cgroupV1 creates a control group with a tenth of a CPU, and returns the file through which
// processes join the group.
func cgroupV1(t *testing.T) string {
	t.Helper()
	return cgroup(t, "/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"})
}

func cgroupV2(t *testing.T) string {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		controllers, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control"))
		if err == nil && slices.Contains(strings.Fields(string(controllers)), "cpu") {
			return cgroup(t, root, map[string]string{"cpu.max": "10000 100000"})
		}
	}
	t.Skip("this machine has no control groups of version 2 with the cpu controller")
	return ""
}

func cgroup(t *testing.T, root string, settings map[string]string) (procs string) {
	t.Helper()
	group, err := os.MkdirTemp(root, "quorumbench-e2e-")
	if err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		// A control group can be removed only after its last process was reaped.
		eventually(t, patience, "the control group was removed", func() bool { return syscall.Rmdir(group) == nil })
	})
	// cpu.cfs_period_us must be written first.
	for _, name := range []string{"cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.max"} {
		value, ok := settings[name]
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, name), []byte(value), 0o644); err != nil {
			t.Skipf("the control group takes no limit: %v", err)
		}
	}
	return filepath.Join(group, "cgroup.procs")
}
