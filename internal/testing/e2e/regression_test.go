//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// A short regression suite compares a server with itself. The two sides differ only in a variable
// that has no effect. They alternate on new clusters until the time limit, and neither side may be
// reported as worse.
func TestRegressionOfAServerAgainstItself(t *testing.T) {
	settle.LongOnly(t, "the script `until` of internal/cli")
	t.Parallel()
	w := newWorld(t)
	file, err := filepath.Abs("../../../scenarios/regression.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := w.run(t, "run", file, "--set", "baseline.env={GOGC: 100}", "--set", "baseline.label=base", "--set", "members=1",
		"--set", "duration=400ms", "--set", "warmup=100ms", "--until-metric", "ops", "--at-most", "45s", "--out", w.path("run"))
	run := openRun(t, w.path("run"), record.Complete)
	p.exits(t, map[bool]int{false: exitDone, true: exitFailed}[run.Verdict() == verdict.Invalid])
	if run.RepeatRule == nil || run.RepeatRule.EndReason == "" || run.RepeatRule.Precision != 0.015 || run.Planned != len(run.Trials) {
		t.Errorf("the run has %d of %d trials, and its rule for repeats is %+v", len(run.Trials), run.Planned, run.RepeatRule)
	}
	for i := range run.Trials {
		// Each round has three trials of each side. The order of the sides alternates: A B, B A.
		side := (i / 3) % 4
		first := run.Trials[0].BaselineOf != ""
		if isBase := run.Trials[i].BaselineOf != ""; isBase != (first == (side == 0 || side == 3)) {
			t.Errorf("trial %d is %s", i+1, run.Trials[i].Name)
		}
		if t1 := run.Trials[i]; t1.Cluster != run.Trials[i/3*3].Cluster || i >= 3 && t1.Cluster == run.Trials[i-3].Cluster {
			t.Errorf("trial %d (%s) ran on cluster %s", i+1, t1.Name, t1.Cluster)
		}
	}
	if !strings.Contains(p.stdout.String(), "\nStopped after ") {
		t.Error("the report does not contain the reason for stopping")
	}

	// The margin is wide, so that the comparison does not report a random difference on a busy
	// machine as worse.
	compareRun := []string{"compare", w.path("run"), "--metric", "ops", "--margin", "70%", "--format", "markdown"}
	out := w.run(t, compareRun...).exits(t, exitDone).stdout.String()
	if !strings.Contains(out, "| metric |") || strings.Contains(out, "| worse |") {
		t.Errorf("the comparison of the run with itself is\n%s", out)
	}
	if r := compare.RepeatProgressOfRun(run); r.Rounds >= analyze.MinRepeats && run.Verdict() != verdict.Invalid {
		w.run(t, append(compareRun, "--fail-on", "worse")...).exits(t, exitDone)
	}
}

// The GitHub action runs the documented commands, and the example of a workflow uses the action.
func TestRegressionWorkflowRunsTheCommands(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(b)), " ")
		return strings.NewReplacer(`"$SCENARIO"`, "regression", `"$OUT"`, "result", `"$HEAD"`, "SIDE", `"$BASE"`, "SIDE", "./head-etcd", "SIDE", "./base-etcd", "SIDE").Replace(text)
	}
	action, docs := read("deploy/action/action.yml"), read("docs/how-to/find-a-regression.md")
	if !strings.Contains(read("docs/ci/regression-github.yml"), "uses: quorumbench/quorumbench/deploy/action@") {
		t.Error("the workflow does not use the action")
	}
	for _, command := range []string{
		"run regression --exec SIDE --set label=head --set baseline.exec=SIDE --set baseline.label=base --out result",
		"compare result --format markdown --fail-on worse",
	} {
		for name, text := range map[string]string{"the action": action, "docs/how-to/find-a-regression.md": docs} {
			if !strings.Contains(text, command) {
				t.Errorf("%s does not run %q", name, command)
			}
		}
	}
}
