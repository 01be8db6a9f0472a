package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// cut is a run that a test starts, interrupts in a given trial, and resumes, possibly several
// times.
type cut struct {
	dir  string
	plan []scenario.Trial
	kept map[string]string // completed trials in run.json, and the contents of their files, by path
}

// part runs the command, waits until the output contains the text `awaited`, and then sends the
// signal.
func (c *cut) part(t *testing.T, awaited string, signal syscall.Signal, args ...string) {
	t.Helper()
	b := start(t, append([]string{"run"}, args...)...)
	b.await(t, awaited)
	if err := b.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	b.end()
	c.holds(t)
}

// holds checks that the trials in c.kept did not change, and adds to c.kept the trials that have
// completed since.
func (c *cut) holds(t *testing.T) *record.Run {
	t.Helper()
	run, err := record.Open(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]string{}
	var raw struct{ Trials []json.RawMessage }
	b, err := os.ReadFile(filepath.Join(c.dir, "run.json"))
	if err == nil {
		err = json.Unmarshal(b, &raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Trials {
		trial := &run.Trials[i]
		if trial.State != record.Complete {
			continue
		}
		now[trial.Folder] = string(raw.Trials[i])
		entries, err := os.ReadDir(filepath.Join(c.dir, trial.Folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(trial.Folder, e.Name())
			b, err := os.ReadFile(filepath.Join(c.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			now[name] = string(b)
		}
	}
	for name, was := range c.kept {
		if now[name] != was {
			t.Errorf("%s changed when the run was resumed", name)
		}
	}
	c.kept = now
	return run
}

// checkResumed checks that a resumed and completed run has everything that an uninterrupted run
// would have.
func (c *cut) checkResumed(t *testing.T, run *record.Run, starts int) {
	t.Helper()
	if run.State != record.Complete || len(run.Problems) > 0 || len(run.Trials) != len(c.plan) || run.Planned != len(c.plan) {
		t.Fatalf("the resumed run's state is %s, with %d of %d trials and the problems %q", run.State, len(run.Trials), len(c.plan), run.Problems)
	}
	for i := range c.plan {
		got, want := &run.Trials[i], &c.plan[i]
		folder := fmt.Sprintf("trial-%02d-%s", want.Number, want.Name)
		if want.Repeats != 1 {
			folder += fmt.Sprintf("-r%d", want.Repeat)
		}
		if got.Name != want.Name || got.Repeat != want.Repeat || got.Seed != want.Load.Seed || got.Folder != folder || got.State != record.Complete {
			t.Errorf("trial %d is named %s, its folder is %s and its state %s", i+1, got.Name, got.Folder, got.State)
		}
		if !slices.ContainsFunc(run.Clusters, func(cl record.Cluster) bool { return cl.ID == got.Cluster }) {
			t.Errorf("trial %d has the cluster %q, which is not in the record", i+1, got.Cluster)
		}
	}
	if len(run.Starts) != starts {
		t.Errorf("the run has %d starts, want %d", len(run.Starts), starts)
	}
	report, err := os.ReadFile(filepath.Join(c.dir, "report.md"))
	if err != nil || !strings.Contains(string(report), "\n  resumed ") {
		t.Errorf("the report does not say that the run was resumed: %v", err)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "trial-") && !slices.ContainsFunc(run.Trials, func(t record.Trial) bool { return t.Folder == e.Name() }) || e.Name() == "data" {
			t.Errorf("the folder %s was not removed", e.Name())
		}
	}
}

// resume resumes the run and waits until it ends.
func (c *cut) resume(t *testing.T, args ...string) *record.Run {
	t.Helper()
	b := start(t, append([]string{"run", "--resume", c.dir}, args...)...)
	// The exit code depends on the verdict, which depends on the machine.
	if code := b.end(); code != command.ExitSuccess && code != command.ExitFailed {
		t.Fatalf("exit code %d", code)
	}
	return c.holds(t)
}

// written writes a scenario to a file and returns its path.
func written(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "cut.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twice = `
repeats: 2
seed: 7
defaults: {%s, connections: 1, clients: 2, key-space: 10, warmup: 0s, duration: 1s}
trials:
  - {name: put, operation: put}
  - {name: get, operation: get}
  - {name: half, operation: put, rate: 50%% of put}
`

func newCut(t *testing.T, text string) (c *cut, path string) {
	t.Helper()
	path = written(t, text)
	s, err := scenario.ParseFile(path, registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &cut{dir: filepath.Join(t.TempDir(), "run"), plan: s.Trials}, path
}

// After a run with a real store was killed, its members and data are removed, and later clusters
// have new names.
func TestKilledRunIsResumed(t *testing.T) {
	t.Parallel()
	c, path := newCut(t, fmt.Sprintf(twice, "store: etcd, members: 1"))
	c.part(t, "[3/6] ", syscall.SIGKILL, path, "--out", c.dir)
	if run := c.holds(t); len(run.Trials) < 2 || run.State != record.Incomplete {
		t.Fatalf("the killed run's state is %s, with %d trials", run.State, len(run.Trials))
	}
	c.checkResumed(t, c.resume(t), 2)
}

// A resumed run can be interrupted and resumed again, both with the scenario file and with the
// record alone.
func TestInterruptedRunIsResumedRepeatedly(t *testing.T) {
	t.Parallel()
	endpoints := startNullServer(t, "--script", "delay=1ms")
	c, path := newCut(t, fmt.Sprintf(twice, "store: etcd, endpoints: ['"+endpoints+"']"))
	c.part(t, "[2/6] ", syscall.SIGINT, path, "--out", c.dir)
	c.part(t, "[3/6] ", syscall.SIGKILL, path, "--resume", c.dir)
	c.part(t, "[4/6] ", syscall.SIGINT, "--resume", c.dir)
	run := c.resume(t)
	c.checkResumed(t, run, 4)
	if s := run.Starts; s[0].State != record.Interrupted || s[1].State != record.Incomplete || s[1].TrialsBefore < 1 || s[2].TrialsBefore < 2 {
		t.Errorf("the run's starts are %+v", s)
	}
}

// A resumed run does not repeat completed rounds, and includes them in the precision.
func TestRunUntilPreciseIsResumed(t *testing.T) {
	t.Parallel()
	endpoints := startNullServer(t, "--script", "delay=1ms")
	path := written(t, `
until: {precision: 95%, metrics: [ops], at-most: 10m}
defaults: {store: etcd, endpoints: ['`+endpoints+`'], connections: 1, clients: 2, key-space: 10, warmup: 0s, duration: 200ms}
trials:
  - {name: put, operation: put}
  - {name: get, operation: get}
`)
	s, err := scenario.ParseFile(path, registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cut{dir: filepath.Join(t.TempDir(), "run")}
	c.part(t, "(repeat 2): ", syscall.SIGKILL, path, "--out", c.dir)
	before := len(c.kept)
	run := c.resume(t)
	for n := 1; len(c.plan) < len(run.Trials); n++ {
		c.plan = append(c.plan, s.Round(n)...)
	}
	c.checkResumed(t, run, 2)
	if before == 0 || run.RepeatRule.EndReason == "" || run.Starts[1].TrialsBefore < 2 {
		t.Errorf("the run ended for the reason %q, with the starts %+v", run.RepeatRule.EndReason, run.Starts)
	}
}
