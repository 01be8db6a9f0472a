//go:build linux

package kubernetes_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// long is a trial that lasts until the test ends it.
const long = `name: puts
trials:
  - {store: etcd, operation: put, clients: 4, connections: 4, rate: 100, warmup: 1s, duration: 5m}
`

// within polls until the condition holds, and fails the test after the time `bound`. The text
// `what` describes the failure.
func within(t *testing.T, bound time.Duration, what string, ask func() bool) {
	t.Helper()
	for began := time.Now(); !ask(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > bound {
			t.Fatalf("after %v %s", bound, what)
		}
	}
}

// begin starts a run on pods and returns once all its pods exist.
func begin(t *testing.T) *exec.Cmd {
	t.Helper()
	c, dir, out := command(t, long, "--members", "1", "--workers", "2")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	within(t, time.Minute, "the run has not begun", func() bool {
		_, err := os.Stat(filepath.Join(dir, "run.json"))
		return err == nil
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", out)
		}
	})
	return c
}

// After Ctrl-C, the command removes everything before it exits.
func TestInterrupted(t *testing.T) {
	needsNode(t)
	c := begin(t)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("the run ended with %v", err)
	}
	checkGone(t)
}

// After the controller was killed, the agents' ten-second lease expires. Then the agents exit,
// their Job ends, and Kubernetes deletes everything that belongs to the Job.
func TestControllerKilled(t *testing.T) {
	needsNode(t)
	c := begin(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // Wait returns an error because the process was killed
	began := time.Now()
	within(t, time.Minute, "resources of the run still exist", func() bool { return listRemains(t) == "" })
	t.Logf("all resources were gone after %v", time.Since(began).Round(time.Second))
}

// If a pod does not start, the error states the reason in one sentence, and the command leaves
// nothing behind.
func TestPodDoesNotStart(t *testing.T) {
	needsNode(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--image", "localhost/nothing:1"}, "does not start: cannot pull the image localhost/nothing:1: "},
		{[]string{"--pod-cpu", "64", "--ready-timeout", "4s"}, "of 2 pods are not ready within 4s: worker-0: the pod cannot be scheduled on any node: 0/1 nodes are available: 1 Insufficient cpu"},
		{[]string{"--namespace", "nowhere"}, `namespaces "nowhere" not found`},
		{[]string{"--context", "unknown"}, `context "unknown" does not exist`},
	} {
		c, _, out := command(t, puts, append([]string{"--workers", "2", "--endpoints", "198.18.1.1:1"}, test.args...)...)
		if err := c.Run(); err == nil || !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), "panic") {
			t.Errorf("%v ended with %v, and the output does not contain %q:\n%s", test.args, err, test.want, out)
		}
		checkGone(t)
	}
}

// Workers in pods can send their load to a cluster that already runs.
func TestAttached(t *testing.T) {
	needsNode(t)
	endpoint := reachable(t, etcd)
	c, dir, out := command(t, strings.Replace(puts, "store: etcd,", "store: etcd, prefix: attached/, cleanup: true,", 1), "--endpoints", endpoint, "--workers", "2")
	if err := c.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if trial := run.Trials[0]; trial.Errors != 0 || len(trial.ByWorker) != 2 || len(run.Hosts) != 2 {
		t.Errorf("the trial has %d errors and %d workers, and the run has %d hosts", trial.Errors, len(trial.ByWorker), len(run.Hosts))
	}
	checkMetrics(t, run, dir, 1)
	checkGone(t)
}

// reachable makes a server on the loopback interface reachable from pods, and only from pods. It
// returns the address that pods use.
func reachable(t *testing.T, server string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(kubernetes.ServiceAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return l.Addr().String()
}

// The controller can run as a Job that has the permissions in deploy/kubernetes.
func TestControllerRunsAsAKubernetesJob(t *testing.T) {
	needsNode(t)
	for _, file := range []string{"rights.yaml", "job.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../../../deploy/kubernetes", file))
		if err != nil {
			t.Fatal(err)
		}
		small := strings.NewReplacer("registry.example.com/quorumbench:1", imageName, "--members=3", "--members=1", "--workers=4", "--workers=2",
			"            - --runs-dir", "            - --set=warmup=200ms\n            - --set=duration=1s\n            - --pod-cpu=50m:2\n            - --pod-memory=32Mi:1Gi\n            - --runs-dir", "cpu: 500m", "cpu: 50m")
		for object := range strings.SplitSeq(small.Replace(string(text)), "\n---\n") {
			path := "/api/v1/namespaces/default/serviceaccounts"
			switch {
			case strings.Contains(object, "kind: RoleBinding"):
				path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
			case strings.Contains(object, "kind: Role\n"):
				path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
			case strings.Contains(object, "kind: Job"):
				path = "/apis/batch/v1/namespaces/default/jobs"
			}
			if err := node.Create(path, object); err != nil {
				t.Fatal(err)
			}
		}
	}
	status := ""
	within(t, 5*time.Minute, "the Job has not ended", func() bool {
		var err error
		status, err = node.Get("/apis/batch/v1/namespaces/default/jobs/quorumbench-run")
		return err == nil && (strings.Contains(status, `"type":"Complete"`) || strings.Contains(status, `"type":"Failed"`))
	})
	log := podLog(t, "job-name=quorumbench-run")
	t.Logf("%s", log)
	if !strings.Contains(status, `"type":"Complete"`) {
		t.Error(status)
	}
	checkGone(t)
}
