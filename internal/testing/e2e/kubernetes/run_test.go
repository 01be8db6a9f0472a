//go:build linux

package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// puts is a short trial.
const puts = `name: puts
trials:
  - {store: etcd, operation: put, clients: 8, connections: 8, rate: 400, warmup: 1s, duration: 5s}
`

// small contains flags for pods that are small enough for a machine with two CPUs.
var small = []string{"--on", "kubernetes", "--image", imageName, "--pod-cpu", "50m:2", "--pod-memory", "32Mi:1Gi", "--namespace", "default"}

// command returns a `quorumbench run` command that runs outside the node's pods.
func command(t *testing.T, text string, args ...string) (c *exec.Cmd, dir string, out *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "scenario.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, out = filepath.Join(home, "run"), new(bytes.Buffer)
	args = append(append([]string{"run", "--out", dir, "--kubeconfig", node.Kubeconfig()}, small...), append(args, file)...)
	c = kubernetes.Outside(program, args...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), "HOME="+home), home, out, out
	return c, dir, out
}

// fewPuts is a load that needs only a small part of two CPUs. The rest suffices for a control
// plane, three members and four workers. The load has enough operations for a p99.
const fewPuts = `name: puts
trials:
  - {store: etcd, operation: put, clients: 8, connections: 8, rate: 40, warmup: 2s, duration: 28s}
`

// ofTheNode lists the rules that always appear in the verdict if the node runs on one machine. The
// control plane counts as other programs. The eight processes of a run need several CPUs.
var ofTheNode = []int{7, 10, 12, 23, 30}

// Members and workers run in pods, from the start to the report. All reasons in the verdict must
// result from sharing one machine with the control plane.
func TestRun(t *testing.T) {
	needsNode(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		c, dir, out := command(t, fewPuts, "--members", "3", "--workers", "4")
		if err := c.Run(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		t.Logf("%s", out)
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		trial := run.Trials[0]
		if trial.Errors != 0 || len(run.Hosts) != 7 || len(trial.ByWorker) != 4 {
			t.Errorf("the trial has %d errors, %d hosts and %d workers", trial.Errors, len(run.Hosts), len(trial.ByWorker))
		}
		for _, reason := range trial.Verdict.Reasons {
			if trial.Verdict.State == verdict.Invalid || !slices.Contains(ofTheNode, reason.Rule) {
				r.Errorf("%v", trial.Verdict)
			}
		}
		checkMetrics(t, run, dir, 3)
		checkGone(t)
	})
}

// checkMetrics checks that the run has metrics from the expected number of members, although the
// controller itself cannot connect to the members.
func checkMetrics(t *testing.T, run *record.Run, dir string, members int) {
	t.Helper()
	figures.ReadTrialFiles(run, dir)
	known := map[string]bool{}
	for _, row := range run.Trials[0].Stores {
		if _, ok := row.Metrics[store.FsyncSeconds]; ok && row.Failure == "" {
			known[row.Endpoint] = true
		}
	}
	if len(known) != members {
		t.Errorf("%d of %d members have metrics: %+v", len(known), members, run.Trials[0].Stores)
	}
}

// checkGone checks that a run has left nothing behind.
func checkGone(t *testing.T) {
	t.Helper()
	if left := listRemains(t); left != "" {
		t.Errorf("these resources still exist: %.500s", left)
	}
}

// listRemains lists the objects that runs and checks have left, or returns an empty string if there
// are none.
func listRemains(t *testing.T) string {
	t.Helper()
	for _, kind := range []string{"/apis/batch/v1/jobs", "/api/v1/pods", "/api/v1/secrets", "/api/v1/persistentvolumeclaims"} {
		b, err := node.Get(kind + "?labelSelector=app.kubernetes.io/name=quorumbench")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b, `"items":[]`) {
			return kind + ": " + b
		}
	}
	return ""
}

// podLog returns the log of the only pod that matches a selector.
func podLog(t *testing.T, selector string) string {
	t.Helper()
	b, err := node.Get("/api/v1/namespaces/default/pods?labelSelector=" + selector)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(b), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %.500s", err, b)
	}
	log, err := node.Get("/api/v1/namespaces/default/pods/" + list.Items[0].Metadata.Name + "/log")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// Pods check their nodes. The result names the node of each pod, and nothing remains.
func TestCheckHostsInPods(t *testing.T) {
	needsNode(t)
	var out, said bytes.Buffer
	args := []string{"check", "hosts", "--kubeconfig", node.Kubeconfig(), "--members", "2", "--duration", "5s", "--format", "json"}
	c := kubernetes.Outside(program, append(args, small...)...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), "HOME="+t.TempDir()), t.TempDir(), &out, &said
	_ = c.Run() // the exit code depends on the machine's disk
	if code := c.ProcessState.ExitCode(); code != 0 && code != 1 && code != 6 {
		t.Fatalf("exit code %d:\n%s", code, said.String())
	}
	var check struct {
		Hosts []struct{ Name string }
		Pairs []struct {
			Trips int `json:"round_trips"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &check); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said.String())
	}
	if len(check.Hosts) != 2 || len(check.Pairs) != 1 || check.Pairs[0].Trips < 5 {
		t.Errorf("%+v", check)
	}
	for i, h := range check.Hosts {
		if !strings.HasPrefix(h.Name, "member-") || !strings.Contains(h.Name, " on ") {
			t.Errorf("host %d has the name %q", i, h.Name)
		}
	}
	checkGone(t)
}
