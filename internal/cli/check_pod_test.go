package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	runkubernetes "github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// mainInPod runs `check` on a scripted API server, and returns the exit code and the output. In the
// output, it replaces the random part of names.
func mainInPod(s *kubernetes.Scripted, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append(args, "--on", "kubernetes", "--image", "registry.example.com/quorumbench:1", "--kubeconfig", s.Kubeconfig), strings.NewReader(""), &out, &errs)
	host, _ := os.Hostname()
	id, server := regexp.MustCompile(`quorumbench-[0-9a-f]{8}`), regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	stderr = server.ReplaceAllString(id.ReplaceAllString(errs.String(), "quorumbench-ID"), "http://SERVER")
	return code, strings.Replace(id.ReplaceAllString(out.String(), "quorumbench-ID"), "controller: "+host, "controller: HOST", 1), stderr
}

// A dry run prints a description of the check and prints the Job, but creates nothing.
func TestCheckInPodDryRun(t *testing.T) {
	s := kubernetes.StartScripted(t, "kubeadm")
	code, stdout, stderr := mainInPod(s, "check", "perf", "--dry-run", "--duration", "30s", "--format", "json")
	if code != 0 || len(s.Created()) != 0 {
		t.Errorf("exit code %d, and %d Jobs were created", code, len(s.Created()))
	}
	const file = "testdata/check-pod.txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := stderr + "\n" + stdout
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs: %s\nall:\n%s", file, diff, got)
	}
	for line := range strings.Lines(stderr) {
		if len(line) > 101 {
			t.Errorf("a line has %d columns: %s", len(line)-1, line)
		}
	}
}

// Without a terminal, nothing is created unless --yes is given.
func TestCheckInPodNeedsConsent(t *testing.T) {
	s := kubernetes.StartScripted(t, "kubeadm")
	code, _, stderr := mainInPod(s, "check", "perf")
	if code != 2 || len(s.Created()) != 0 || !strings.HasSuffix(stderr, "\nquorumbench: nothing was created: standard input is not a terminal, so this command cannot ask; add --yes\n") {
		t.Errorf("exit code %d, %d Jobs, and %s", code, len(s.Created()), stderr)
	}
}

// The check in the pod determines the output and the exit code.
func TestCheckInPod(t *testing.T) {
	s := kubernetes.StartScripted(t, "kubeadm")
	s.PodStatus = `{"containerStatuses":[{"name":"check","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}`
	s.Log = "1 {\"state\": \"fail\"}\n2 quorumbench: cleaning up\n"
	code, stdout, stderr := mainInPod(s, "check", "members", "--yes", "--format", "json")
	if code != 1 || stdout != "{\"state\": \"fail\"}\n" || !strings.HasSuffix(stderr, "\nquorumbench: cleaning up\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if jobs := s.Created(); len(jobs) != 1 || !strings.Contains(jobs[0], `"in-pod","--on kubernetes --image registry.example.com/quorumbench:1 --kubeconfig `+s.Kubeconfig+`","check","members","--endpoints=https://10.0.0.1:2379,https://10.0.0.2:2379,https://10.0.0.3:2379"`) || s.Remaining() != 0 {
		t.Errorf("the Jobs %q were created, and %d objects remain", jobs, s.Remaining())
	}
}

// If a command in a pod is killed, the remedy depends on whether the command wrote keys.
func TestKilledInPod(t *testing.T) {
	for want, args := range map[string][]string{"repeat the command\n": {"cleanup"}, keysRemain + "\n": {"check", "perf"}} {
		s := kubernetes.StartScripted(t, "kubeadm")
		s.PodStatus = `{"containerStatuses":[{"name":"check","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`
		if code, _, stderr := mainInPod(s, append(args, "--yes")...); code != 1 || !strings.HasSuffix(stderr, "because the node had too little memory; "+want) {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// A flag of the user or a field of a pod cannot add lines to the description of the check.
func TestCheckInPodDescribesInLines(t *testing.T) {
	s := kubernetes.StartScripted(t, "kubeadm")
	if _, _, stderr := mainInPod(s, "check", "perf", "--dry-run", "--key", "/a\nrights   none\x1b[2J"); strings.Contains(stderr, "\nrights   none") || strings.Contains(stderr, "\x1b") {
		t.Errorf("%q", stderr)
	}
}

// The command for pods marks the lines of both streams, passes on the exit code, and suggests no
// command, because no user could run it.
func TestInPod(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Main([]string{"in-pod", "--on kubernetes", "version", "--bogus"}, strings.NewReader(""), &out, &errs); code != 2 || out.String() != "2 quorumbench: version has no flag --bogus; quorumbench version --help lists the flags\n" || errs.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
	out.Reset()
	if code := Main([]string{"in-pod", "--on kubernetes", "version"}, strings.NewReader(""), &out, &errs); code != 0 || !strings.HasPrefix(out.String(), "1 quorumbench ") {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}

// The description of a load contains everything that affects other keys or the whole cluster.
func TestDescribeLoad(t *testing.T) {
	var l scenario.Load
	l.Total, l.Prefix, l.Overwrite = 10, "app/", true
	l.Cleanup.Compact, l.Cleanup.Defragment = true, true
	want := []string{
		`10 keys; writes keys below "app/"`,
		"replaces and deletes keys that already exist there; removes no keys at the end",
		"compacts the history of all keys at the end, which affects the whole cluster",
		"defragments every member at the end, which affects the whole cluster",
		"each member blocks all its requests while it is defragmented",
	}
	if diff := cmp.Diff(want, describeLoad(&l)); diff != "" {
		t.Error(diff)
	}
}

// A check in a pod refuses prefixes that overlap with the keys of Kubernetes.
func TestCheckInPodRefusesKeysOfKubernetes(t *testing.T) {
	s := kubernetes.StartScripted(t, "kubeadm")
	for _, prefix := range []string{"", "/", "/reg", "/registry", "/registry/configmaps/default/bench/", "/kubernetes.io/x/", "/openshift.io/x/", "/bootstrap/x"} {
		for _, check := range []string{"perf", "members", "datascale"} {
			code, _, stderr := mainInPod(s, "check", check, "--yes", "--prefix="+prefix)
			if code != 2 || !strings.Contains(stderr, "quorumbench: --prefix ") || len(prefix) > 1 && !strings.Contains(stderr, fmt.Sprintf("--prefix %q overlaps with /", prefix)) || len(s.Used()) != 0 {
				t.Errorf("%s %q: exit code %d, %s", check, prefix, code, stderr)
			}
		}
	}
}

// An interrupted check does not claim that its pod was removed if it may still exist.
func TestPodResult(t *testing.T) {
	left := &runkubernetes.RemovalError{Cause: errors.New("cannot remove the Job")}
	for want, err := range map[string]error{
		"interrupted; the pod has been removed": context.Canceled,
		"interrupted; cannot remove the Job":    errors.Join(context.Canceled, left),
	} {
		if err := podResult(0, err); command.ExitCode(err) != command.ExitInterrupted || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if err := podResult(0, left); !errors.Is(err, left) {
		t.Errorf("%v", err)
	}
}

// In a plug-in of kubectl, "check" without the name of a check is "check perf".
func TestPluginArgs(t *testing.T) {
	for given, want := range map[string]string{
		"check":                 "check perf",
		"check --yes":           "check perf --yes",
		"check members":         "check members",
		"check --help":          "check --help",
		"check -h":              "check -h",
		"run":                   "run",
		"":                      "",
		"check --image x --yes": "check perf --image x --yes",
	} {
		if got := pluginArgs(strings.Fields(given)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("the arguments %q become %q, want %q", given, got, want)
		}
	}
}
