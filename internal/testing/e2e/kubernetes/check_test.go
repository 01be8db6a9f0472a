//go:build linux

package kubernetes_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// etcdImage is the name of an image on the node. The image contains etcd's own server.
const etcdImage = "localhost/etcd:test"

// staticEtcd is a static pod as kubeadm writes it. {node} is the node's address, {pki} the folder
// with the certificates, and {data} the folder for etcd's data.
const staticEtcd = `apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: kube-system
  labels: {component: etcd, tier: control-plane}
  annotations: {kubeadm.kubernetes.io/etcd.advertise-client-urls: "https://{node}:2379"}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  securityContext: {runAsUser: 0, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: etcd
      image: ` + etcdImage + `
      imagePullPolicy: Never
      command:
        - /etcd
        - --name=node1
        - --listen-client-urls=https://127.0.0.1:2379,https://{node}:2379
        - --advertise-client-urls=https://{node}:2379
        - --listen-peer-urls=https://{node}:2380
        - --initial-advertise-peer-urls=https://{node}:2380
        - --initial-cluster=node1=https://{node}:2380
        - --data-dir={data}
        - --cert-file={pki}/server.crt
        - --key-file={pki}/server.key
        - --trusted-ca-file={pki}/ca.crt
        - --client-cert-auth=true
        - --peer-cert-file={pki}/server.crt
        - --peer-key-file={pki}/server.key
        - --peer-trusted-ca-file={pki}/ca.crt
        - --peer-client-cert-auth=true
        - --listen-metrics-urls=http://127.0.0.1:2381
      readinessProbe: {httpGet: {host: 127.0.0.1, port: 2381, path: /readyz}, periodSeconds: 1}
      volumeMounts:
        - {name: etcd-data, mountPath: "{data}"}
        - {name: etcd-certs, mountPath: "{pki}"}
  volumes:
    - {name: etcd-certs, hostPath: {path: "{pki}", type: DirectoryOrCreate}}
    - {name: etcd-data, hostPath: {path: "{data}", type: DirectoryOrCreate}}
`

// podReady matches the JSON of a pod that is ready.
var podReady = regexp.MustCompile(`"type":"Ready",[^}]*"status":"True"`)

// startStaticEtcd starts etcd in a static pod of the node.
func startStaticEtcd(t *testing.T) *staticPlane {
	t.Helper()
	dir := t.TempDir()
	pki := filepath.Join(dir, "pki", "etcd")
	if err := os.MkdirAll(pki, 0o700); err != nil {
		t.Fatal(err)
	}
	a := certs.NewAuthority(t, "etcd-ca")
	certs.WriteFile(t, filepath.Join(pki, "ca.crt"), a.PEM)
	until := time.Now().Add(time.Hour)
	for _, name := range []string{"server", "healthcheck-client"} {
		a.Issue(t, name, until, net.ParseIP(kubernetes.NodeAddress)).Write(t, filepath.Join(pki, name+".crt"), filepath.Join(pki, name+".key"))
	}
	binary := filepath.Join(dir, "etcd")
	if err := kubernetes.BuildStatic(t.Context(), binary, "github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes/etcd"); err != nil {
		t.Fatal(err)
	}
	if err := node.ImportProgram(t.Context(), etcdImage, binary, "/etcd"); err != nil {
		t.Fatal(err)
	}
	manifest := strings.NewReplacer("{node}", kubernetes.NodeAddress, "{pki}", pki, "{data}", filepath.Join(dir, "data")).Replace(staticEtcd)
	if err := node.WriteStaticPod("etcd", manifest); err != nil {
		t.Fatal(err)
	}
	const pod = "/api/v1/namespaces/kube-system/pods/etcd-node1"
	t.Cleanup(func() {
		if err := node.RemoveStaticPod("etcd"); err != nil {
			t.Error(err)
		}
		within(t, time.Minute, "the static pod still exists", func() bool { _, err := node.Get(pod); return err != nil })
	})
	within(t, time.Minute, "etcd in a static pod is not ready", func() bool {
		status, err := node.Get(pod)
		return err == nil && podReady.MatchString(status)
	})
	pair := a.Issue(t, "client", until).TLS(t)
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"127.0.0.1:2379"}, DialTimeout: 10 * time.Second, TLS: &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &staticPlane{c, pki}
}

// plugin returns a command that runs quorumbench as a plug-in of kubectl, outside the node.
func plugin(t *testing.T, args ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	link := filepath.Join(home, "kubectl-quorumbench")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	c = kubernetes.Outside(link, append(args, "--yes")...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), "HOME="+home, "KUBECONFIG="+node.Kubeconfig()), home, stdout, stderr
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", stdout, stderr)
		}
	})
	return c, stdout, stderr
}

// countKeys returns the number of keys in etcd.
func countKeys(t *testing.T, c *clientv3.Client) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return r.Count
}

// killInPod kills the process of a check in a pod. The process is visible in the PID namespace of
// this test.
func killInPod(t *testing.T) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		line, _ := os.ReadFile(file) // the process may have ended
		if strings.HasPrefix(string(line), "/quorumbench\x00in-pod\x00") {
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no check runs in a pod")
}

// staticPlane is a control plane whose etcd runs in a static pod.
type staticPlane struct {
	etcd *clientv3.Client
	pki  string // folder with the certificates
}

// A check as a plug-in of kubectl finds etcd in its static pod, checks it, and leaves neither
// objects in Kubernetes nor keys in etcd: at its end, after Ctrl-C, and after it was killed.
func TestCheckControlPlane(t *testing.T) {
	needsNode(t)
	p := startStaticEtcd(t)
	if _, err := p.etcd.Put(t.Context(), "/registry/kept", "value"); err != nil {
		t.Fatal(err)
	}
	t.Run("Ends", p.testEnds)
	t.Run("Interrupted", p.testInterrupted)
	t.Run("Killed", p.testKilled)
	t.Run("PodKilled", p.testPodKilled)
	t.Run("Copied", p.testCopied)
	t.Run("Refused", p.testRefused)
}

// checkGone checks that nothing of a check is left.
func (p *staticPlane) checkGone(t *testing.T) {
	t.Helper()
	if n, left := countKeys(t, p.etcd), listRemains(t); n != 1 || left != "" {
		t.Errorf("%d keys are left, want 1; the remaining resources are %.300s", n, left)
	}
}

// startCheck starts a check, and waits until it has written keys.
func (p *staticPlane) startCheck(t *testing.T, duration string) (c *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	c, _, stderr = plugin(t, "check", "perf", "--duration", duration, "--image", imageName)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the check writes nothing", func() bool { return countKeys(t, p.etcd) > 50 })
	return c, stderr
}

// A check that ends prints its result, and removes its keys and its Job.
func (p *staticPlane) testEnds(t *testing.T) {
	c, stdout, stderr := plugin(t, "check", "--duration", "5s", "--format", "json", "--image", imageName)
	err := c.Run()
	var result struct {
		Check, State string
		Due          int
		Errors       []any
		Cleanup      struct{ Deleted int }
	}
	if bad := json.Unmarshal(stdout.Bytes(), &result); bad != nil {
		t.Fatalf("%v, %v: %s\n%s", err, bad, stdout, stderr)
	}
	codes := map[string][]int{"pass": {0}, "fail": {1, 6}} // a busy node can make the check fail
	if !slices.Contains(codes[result.State], c.ProcessState.ExitCode()) || result.Due != 750 || len(result.Errors) > 0 || result.Cleanup.Deleted != 750 {
		t.Errorf("%v: %s\n%s", err, stdout, stderr)
	}
	t.Logf("%s\n%s", stdout, stderr)
	p.checkGone(t)
}

// After Ctrl-C, the check removes its keys and its Job.
func (p *staticPlane) testInterrupted(t *testing.T) {
	c, stderr := p.startCheck(t, "10m")
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("the command ended with %v: %s", err, stderr)
	}
	p.checkGone(t)
}

// If the plug-in is killed, the check in the pod still ends, and Kubernetes removes the Job.
func (p *staticPlane) testKilled(t *testing.T) {
	c, _ := p.startCheck(t, "3s")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // Wait returns an error because the process was killed
	within(t, 3*time.Minute, "resources of the check still exist", func() bool { return listRemains(t) == "" })
	p.checkGone(t)
}

// If the check in the pod is killed, the command that it printed removes its keys, but not those of
// another check.
func (p *staticPlane) testPodKilled(t *testing.T) {
	c, stderr := p.startCheck(t, "10m")
	killInPod(t)
	if err := c.Wait(); err == nil || !strings.Contains(stderr.String(), "the command in the pod was killed; the check's keys may remain") {
		t.Errorf("the command ended with %v: %s", err, stderr)
	}
	if left := listRemains(t); left != "" || countKeys(t, p.etcd) < 50 {
		t.Errorf("%.300s", left)
	}
	suggested := regexp.MustCompile(`if the run is killed, remove them with "quorumbench (cleanup --on kubernetes .* --run \S+)"`).FindStringSubmatch(stderr.String())
	if suggested == nil {
		t.Fatalf("stderr does not suggest a command that removes the keys: %s", stderr)
	}
	other, _, _ := plugin(t, "check", "perf", "--duration", "10m", "--image", imageName, "--prefix", "other/") // its PID namespace may get the number of the killed check's PID namespace
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the other check writes nothing", func() bool {
		r, err := p.etcd.Get(t.Context(), "other/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && r.Count > 0
	})
	c, stdout, stderr := plugin(t, strings.Fields(suggested[1])...)
	if err := c.Run(); err != nil || !strings.Contains(stdout.String(), "Removed ") {
		t.Errorf("%v: %s\n%s", err, stdout, stderr)
	}
	t.Logf("%s\n%s", stdout, stderr)
	if err := other.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = other.Wait() // checkGone checks the result
	p.checkGone(t)
}

// Without an image, the program is copied into a pod with a shell.
func (p *staticPlane) testCopied(t *testing.T) {
	const shell = "localhost/shell:test"
	if err := node.ImportProgram(t.Context(), shell, "/bin/busybox", "/bin/sh"); err != nil {
		t.Fatal(err)
	}
	c, stdout, stderr := plugin(t, "check", "members", "--duration", "3s", "--shell-image", shell)
	if err := c.Run(); err != nil && c.ProcessState.ExitCode() != 1 || !strings.Contains(stdout.String(), "node1") || !strings.Contains(stderr.String(), "quorumbench: the program was copied into the pod\n") {
		t.Errorf("%v: %s\n%s", err, stdout, stderr)
	}
	t.Logf("%s\n%s", stdout, stderr)
	p.checkGone(t)
}

// If the pod cannot start, the error states the reason, and nothing remains.
func (p *staticPlane) testRefused(t *testing.T) {
	const restricted = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`
	if err := node.Create("/api/v1/namespaces", restricted); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(p.pki, "healthcheck-client.key"), filepath.Join(p.pki, "other.key")); err != nil {
		t.Fatal(err)
	}
	files := []string{"--cert", p.pki + "/healthcheck-client.crt", "--key", p.pki + "/other.key"}
	for want, args := range map[string][]string{
		fmt.Sprintf("the pod does not start: the node node1 has no file %s/healthcheck-client.key; with --cacert, --cert and --key, give the paths of the files on the node", p.pki): {"--image", imageName},
		"violates PodSecurity \"restricted:latest\": ":     {"--image", imageName, "--namespace", "restricted"},
		"cannot pull the image localhost/nothing:1: ":      append(slices.Clip(files), "--image", "localhost/nothing:1"),
		"; with --shell-image, give an image with a shell": append(slices.Clip(files), "--shell-image", imageName),
	} {
		c, _, stderr := plugin(t, append([]string{"check"}, args...)...)
		if err := c.Run(); err == nil || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v ended with %v, and stderr does not contain %q:\n%s", args, err, want, stderr)
		}
		p.checkGone(t)
	}
}
