package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/image"
)

// Node is a Kubernetes cluster with one node.
type Node struct {
	API       // listens at the node's address, which pods can also reach
	processes []*exec.Cmd
}

// MissingRequirement returns a sentence that states what this machine lacks to run a node, or an
// empty string if it lacks nothing.
func MissingRequirement() string {
	for _, program := range slices.Sorted(maps.Keys(packages)) {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Sprintf("there is no %s: install Debian's %s", program, packages[program])
		}
	}
	if os.Geteuid() != 0 {
		return "a node is started by root alone"
	}
	return ""
}

// Start starts a node whose files are below dir, in the namespaces that RunIsolated created, and
// waits until the node accepts pods. etcd is HOST:PORT of the etcd that the API server uses.
func Start(ctx context.Context, dir, etcd string) (n *Node, err error) {
	source, err := Source()
	if err != nil {
		return nil, err
	}
	binary, err := install.Ensure(ctx, source, nil)
	if err != nil {
		return nil, err
	}
	made := &Node{API: API{Host: NodeAddress, Port: apiPort, dir: dir}}
	n = made
	defer func() {
		if err != nil { // in case of an error, n must be nil
			err = errors.Join(err, made.Logs())
			made.Stop()
		}
	}()
	if err := n.configure(); err != nil {
		return nil, err
	}
	if err := n.run(ctx, "containerd", "containerd", []string{"-c", n.path("containerd.toml")}, func() error {
		return n.ctr(ctx, "version")
	}); err != nil {
		return nil, err
	}
	if err := n.importPause(ctx); err != nil {
		return nil, err
	}
	for _, p := range n.programs(etcd) {
		if err := n.run(ctx, p.name, binary, append([]string{p.name}, p.args...), p.ready); err != nil {
			return nil, err
		}
	}
	return n, n.await(ctx, "the node", n.nodeReady)
}

// program is one of the node's programs.
type program struct {
	name  string
	args  []string
	ready func() error // returns nil once the program is ready; may be nil
}

func (n *Node) programs(etcd string) []program {
	return []program{
		{"kube-apiserver", append(n.server(etcd), "--bind-address", "0.0.0.0", "--kubelet-preferred-address-types", "InternalIP"), n.ready},
		{"kube-controller-manager", append(n.controllers(), "--node-monitor-period", "1s"), nil},
		{"kube-scheduler", []string{"--kubeconfig", n.Kubeconfig(), "--leader-elect=false", "--secure-port", "0"}, nil},
		{"kubelet", []string{
			"--config", n.path("kubelet.yaml"), "--kubeconfig", n.Kubeconfig(), "--root-dir", n.path("kubelet"), "--hostname-override", "node1",
			"--node-ip", n.Host, "--cert-dir", n.path("kubelet-certs"),
		}, nil},
	}
}

// run starts a program and waits until it is ready.
func (n *Node) run(ctx context.Context, name, path string, args []string, ready func() error) error {
	log, err := os.Create(n.path(name + ".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the started program has its own copy of the file descriptor
	c := exec.Command(path, args...)
	c.Stdout, c.Stderr, c.Dir = log, log, n.dir
	if err := c.Start(); err != nil {
		return err
	}
	n.processes = append(n.processes, c)
	if ready == nil {
		return nil
	}
	return n.await(ctx, name, ready)
}

// await calls the function `ask` repeatedly until `ask` returns nil.
func (n *Node) await(ctx context.Context, what string, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// nodeReady returns an error until pods can be scheduled.
func (n *Node) nodeReady() error {
	if err := n.accountReady(); err != nil {
		return err
	}
	b, err := n.Get("/api/v1/nodes/node1")
	if err == nil && (!strings.Contains(b, `"KubeletReady"`) || strings.Contains(b, `"node.kubernetes.io/not-ready"`)) {
		err = errors.New("the kubelet says that it is not")
	}
	return err
}

// WriteStaticPod lets the kubelet run a pod without the API, as kubeadm does for a control plane.
func (n *Node) WriteStaticPod(name, manifest string) error {
	return os.WriteFile(filepath.Join(n.path("manifests"), name+".yaml"), []byte(manifest), 0o600)
}

// RemoveStaticPod lets the kubelet end a static pod.
func (n *Node) RemoveStaticPod(name string) error {
	return os.Remove(filepath.Join(n.path("manifests"), name+".yaml"))
}

// Import imports a container image from an archive.
func (n *Node) Import(ctx context.Context, archive string) error {
	return n.ctr(ctx, "-n", "k8s.io", "images", "import", archive)
}

// AddImages adds count images to the node. Each contains a program that only waits, and has a name
// with a tag and a name with a digest, like an image that was pulled.
func (n *Node) AddImages(ctx context.Context, count int) error {
	archive := n.path("more.tar")
	for i := range count {
		repository := fmt.Sprintf("registry.example.com/platform/service-%02d", i)
		name := repository + ":v1.4.2"
		var b bytes.Buffer
		labelled := image.Image{Name: name, Variants: []image.Variant{{Binary: n.path("pause")}}, Entry: "/pause", Labels: map[string]string{"service": repository}}
		err := labelled.Write(&b)
		if err == nil {
			err = os.WriteFile(archive, b.Bytes(), 0o600)
		}
		if err == nil {
			err = n.Import(ctx, archive)
		}
		if err != nil {
			return err
		}
		listed, err := exec.CommandContext(ctx, "ctr", "-a", n.path("containerd.sock"), "-n", "k8s.io", "images", "list", "name=="+name).Output()
		_, digest, ok := strings.Cut(string(listed), "sha256:")
		if err != nil || !ok || len(digest) < 64 {
			return fmt.Errorf("the digest of %s is not known: %w: %s", name, err, listed)
		}
		if err := n.ctr(ctx, "-n", "k8s.io", "images", "tag", name, repository+"@sha256:"+digest[:64]); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) ctr(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ctr", append([]string{"-a", n.path("containerd.sock")}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// importPause creates and imports the image whose program keeps a pod's namespaces alive.
func (n *Node) importPause(ctx context.Context) error {
	if err := os.WriteFile(n.path("pause.go"), []byte(pause), 0o600); err != nil {
		return err
	}
	if err := BuildStatic(ctx, n.path("pause"), n.path("pause.go")); err != nil {
		return err
	}
	return n.ImportProgram(ctx, pauseImage, n.path("pause"), "/pause")
}

// BuildStatic builds a Go program that needs no other files.
func BuildStatic(ctx context.Context, program, source string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be built: %w: %s", source, err, out)
	}
	return nil
}

// ImportProgram imports an image that contains one program, as the file `entry`.
func (n *Node) ImportProgram(ctx context.Context, name, program, entry string) error {
	var b bytes.Buffer
	err := (&image.Image{Name: name, Variants: []image.Variant{{Binary: program}}, Entry: entry}).Write(&b)
	if err != nil {
		return err
	}
	archive := n.path("image.tar")
	if err := os.WriteFile(archive, b.Bytes(), 0o600); err != nil {
		return err
	}
	return n.Import(ctx, archive)
}

// Logs returns the last lines of every program's log as an error.
func (n *Node) Logs() error {
	var errs []error
	names, _ := filepath.Glob(n.path("*.log"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		errs = append(errs, fmt.Errorf("%s: ...%s", filepath.Base(name), text[max(0, len(text)-3000):]), err)
	}
	return errors.Join(errs...)
}

// Stop ends all processes and containers. It also removes the control groups and mount folders that
// containers leave outside the namespaces.
func (n *Node) Stop() {
	for _, c := range slices.Backward(n.processes) {
		if strings.HasSuffix(c.Path, "containerd") {
			n.endContainers()
		}
		_ = c.Process.Kill()
		_ = c.Wait() // Wait returns an error because the process was killed
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], n.dir+"/") {
			_ = syscall.Unmount(f[1], syscall.MNT_DETACH)
		}
	}
}

// endContainers ends and removes all containers, with their control groups.
func (n *Node) endContainers() {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "ctr", "-a", n.path("containerd.sock"), "-n", "k8s.io", "containers", "list", "-q").Output()
	for id := range strings.FieldsSeq(string(out)) {
		_ = n.ctr(ctx, "-n", "k8s.io", "tasks", "delete", "--force", id) // an error means that the task has already ended
	}
}
