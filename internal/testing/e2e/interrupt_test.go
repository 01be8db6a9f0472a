//go:build linux

package e2e_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// long has a short trial, and a second trial that lasts until the test ends it.
const long = `
name: long
order: written
defaults: {store: etcd, connections: 4, clients: 16, key-space: 200, warmup: 200ms, operation: put}
trials:
  - {name: short, duration: 500ms}
  - {name: endless, duration: 10m}
`

// measuring waits until the trial in the folder has recorded a complete one-second interval of its
// window.
func (p *startedProgram) measuring(t *testing.T, dir, folder string) {
	t.Helper()
	eventually(t, 2*patience, "a second was recorded in "+folder, func() bool {
		select {
		case <-p.ended:
			t.Fatalf("quorumbench %s ended too early:\n%s", p.args, p.stderr.String())
		default:
		}
		rows, err := record.OpenTimeline(dir, folder)
		return err == nil && slices.ContainsFunc(rows, func(row record.Row) bool { return row.Phase == measure.Measured.String() })
	})
}

// An interrupted command prints what it has measured. etcd's benchmark does not. CI tests two of
// the signals.
func TestInterruptPrintsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	all := map[string]func(*startedProgram, *testing.T){
		"Ctrl-C":  (*startedProgram).interrupt,
		"SIGTERM": func(p *startedProgram, t *testing.T) { p.signal(t, syscall.SIGTERM) },
		// When a terminal is closed, the program may receive the signal twice. It must not treat
		// the second signal as a second interrupt by the user.
		"SIGHUP": func(p *startedProgram, t *testing.T) {
			p.signal(t, syscall.SIGHUP)
			p.awaitText(t, "stopping")
			p.signal(t, syscall.SIGHUP)
		},
	}
	for _, name := range settle.Sample(t, 2, slices.Sorted(maps.Keys(all))) {
		interrupt := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := w.path("run")
			p := w.start(t, "run", w.file(t, "long.yaml", long), "--out", dir)
			p.measuring(t, dir, "trial-02-endless")
			interrupt(p, t)
			p.exits(t, exitInterrupted).oneSentence(t, "interrupted")

			run := openRun(t, dir, record.Interrupted)
			if len(run.Trials) != 2 {
				t.Fatalf("the run has %d trials, want 2", len(run.Trials))
			}
			if first := byName(t, run, "short"); first.State != record.Complete || first.Operations == 0 {
				t.Errorf("the state of the trial before the interrupt is %s", first.State)
			}
			cut := byName(t, run, "endless")
			// Each client may have had one operation in flight. The program gives up these
			// operations one second after the interrupt.
			given := cut.ErrorsByKind["timeout"] + cut.ErrorsByKind["not_sent"]
			if cut.State != record.Interrupted || cut.Operations == 0 || cut.Errors != given || given > 16 || rule(cut, 19) == "" {
				t.Errorf("the interrupted trial has the state %s, %d operations, errors %v and the verdict %v",
					cut.State, cut.Operations, cut.ErrorsByKind, cut.Verdict)
			}
			out := p.stdout.String()
			if lines := strings.Count(out, "\nshort ") + strings.Count(out, "\nendless "); lines != 2 || !strings.Contains(out, "interrupted") {
				t.Errorf("the table has %d lines:\n%s", lines, out)
			}
			if errors := p.stderr.String(); strings.Contains(errors, "stopping the etcd cluster of 3, ") {
				t.Errorf("the remaining time of an interrupted run is printed:\n%s", errors)
			}
			if len(w.processes()) > 0 {
				t.Errorf("after the program ended, these processes were still running: %v", w.processes())
			}
			checkLeftovers(t, dir)
		})
	}
}

func TestInterruptWhileTheClusterStarts(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]int{"one member": 1, "all members": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := w.path("run")
			p := w.start(t, "run", w.file(t, "long.yaml", long), "--out", dir, "--data-dir", w.path("elsewhere"))
			eventually(t, patience, "members were started", func() bool { return len(w.members()) >= members })
			p.interrupt(t)
			p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
			if run := openRun(t, dir, record.Interrupted); len(run.Trials) != 0 {
				t.Errorf("the run has %d trials, want none", len(run.Trials))
			}
			if dataLeft(w.path("elsewhere")) || dataLeft(dir) {
				t.Error("the members' data is left")
			}
			if out := p.stdout.String(); strings.Contains(out, "throughput") {
				t.Errorf("the output contains a table, although no trial ran:\n%s", out)
			}
		})
	}
}

// Under nohup the program continues after its terminal is closed.
func TestHangUpIsIgnoredUnderNohup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=1ms")
	p := w.startWith(t, "/bin/sh", "-c", `trap '' HUP; exec "$0" "$@"`, os.Getenv(binaryEnv), "bench", "put",
		"--endpoints", endpoint, "--duration", "2s", "--warmup", "0s", "--out", w.path("run"))
	p.awaitText(t, "measuring")
	p.signal(t, syscall.SIGHUP)
	p.exits(t, exitDone)
	if run := opened(t, w.path("run")); run.State != record.Complete {
		t.Errorf("the run's state is %s", run.State)
	}
}

// A check whose terminal is closed removes its keys.
func TestHungUpCheckRemovesItsKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t)
	p := w.start(t, "check", "perf", "--rate", "200", "--clients", "10", "--duration", "5m", "--endpoints", endpoint)
	client := official.Etcd(t, store.Access{Endpoints: []string{endpoint}})
	keys := func() int64 {
		r, err := client.Get(t.Context(), "quorumbench/check-perf/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return r.Count
	}
	eventually(t, patience, "keys were written", func() bool { return keys() > 10 })
	p.signal(t, syscall.SIGHUP)
	p.exits(t, exitInterrupted)
	if n := keys(); n > 0 {
		t.Errorf("%d keys were not removed", n)
	}
}

// If the window never opened, the record has no figures and states the reason.
func TestInterruptInTheWarmUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t)
	p := w.start(t, "bench", "put", "--endpoints", endpoint, "--warmup", "10m", "--duration", "1s", "--out", w.path("run"), "--format", "json")
	p.awaitText(t, "warming up")
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	run := opened(t, w.path("run"))
	if run.State != record.Interrupted || len(run.Trials) != 1 || run.Trials[0].State != record.Interrupted || run.Trials[0].Opened != nil {
		t.Errorf("the run's state is %s, and its trials are %+v", run.State, run.Trials)
	}
	if out := p.stdout.String(); out != "" {
		if trial := result(t, p); trial.State != record.Interrupted || trial.Due > 0 {
			t.Errorf("the output is %s", out)
		}
	}
}

func TestInterruptInThePreload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=50ms")
	p := w.start(t, "bench", "get", "--endpoints", endpoint, "--key-space-size", "10000000", "--out", w.path("run"))
	p.awaitText(t, "preloading")
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	if run := opened(t, w.path("run")); run.State != record.Interrupted {
		t.Errorf("the run's state is %s", run.State)
	}
}

// After kill -9 of the program, no process remains that could stop the members, so they must stop
// by themselves. CI tests one place of the data.
func TestKilledRunLeavesNoProcessAndAReadableDirectory(t *testing.T) {
	t.Parallel()
	for _, place := range settle.Sample(t, 1, []string{"in the run directory", "elsewhere"}) {
		t.Run("data "+place, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir, data := w.path("run"), w.path("run")
			args := []string{"run", w.file(t, "long.yaml", long), "--out", dir}
			if place == "elsewhere" {
				data = w.path(place)
				args = append(args, "--data-dir", data)
			}
			p := w.start(t, args...)
			p.measuring(t, dir, "trial-02-endless")
			p.signal(t, syscall.SIGKILL)
			<-p.ended
			eventually(t, patience, "the members ended", func() bool { return len(w.processes()) == 0 })
			checkKilled(t, dir)

			if !dataLeft(data) {
				t.Fatal("the killed program left no data, so this test has nothing to check")
			}
			endpoint := w.nullServer(t)
			w.run(t, "bench", "put", "--endpoints", endpoint, "--total", "100").exits(t, exitDone)
			if dataLeft(data) {
				t.Errorf("the next start left the orphaned data in %s", data)
			}
			checkKilled(t, dir) // the next start must not change the killed run's record
		})
	}
}

// checkKilled checks that the record is marked as incomplete and contains everything recorded
// before the kill.
func checkKilled(t *testing.T, dir string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if run.State != record.Incomplete || run.Finished != nil || len(run.Problems) == 0 || len(run.Trials) != 2 {
		t.Fatalf("the run's state is %s, finished %v, problems %q, %d trials", run.State, run.Finished, run.Problems, len(run.Trials))
	}
	checkTrial(t, dir, byName(t, run, "short"))
	cut := byName(t, run, "endless")
	if cut.State != record.Incomplete {
		t.Errorf("the state of the interrupted trial is %s", cut.State)
	}
	files, err := record.OpenTrial(dir, cut.Folder)
	if err != nil || len(files.Timeline) == 0 || len(files.Intervals) == 0 {
		t.Errorf("the interrupted trial has %d seconds and %d histograms: %v", len(files.Timeline), len(files.Intervals), err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
