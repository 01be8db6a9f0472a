package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// insideEnv is an environment variable. It is set in a process that RunIsolated started as the
// first process in its own namespaces.
const insideEnv = "QUORUMBENCH_TEST_KUBERNETES_INSIDE"

// NodeAddress is the node's address in its own network. Pods have other addresses. All addresses
// are in the range that RFC 2544 reserves for benchmarks.
const NodeAddress = "198.18.1.1"

// ServiceAddress is the address at which pods reach the API: the first address for services. Only
// pods can connect to it.
const ServiceAddress = "198.18.2.1"

// outside is the name of a network namespace and of the link to it. The namespace simulates a
// machine next to the node. That machine can reach the API, but neither pods nor services.
const (
	outside        = "outside"
	outsideAddress = "198.18.1.2"
)

// Outside returns a command that runs as if on a machine next to the node.
func Outside(program string, args ...string) *exec.Cmd {
	// The command `ip netns exec` enters the namespace and executes the program.
	return exec.Command("ip", append([]string{"netns", "exec", outside, program}, args...)...)
}

// RunIsolated runs this test binary again as the first process in new namespaces for processes,
// mounts and the network. When that process ends, for whatever reason, everything that a node
// started, mounted or connected ends with it. In the new process, RunIsolated prepares the
// namespaces and returns inside = true. In the original process, it waits for the new process and
// returns its exit code.
func RunIsolated() (inside bool, code int, err error) {
	if os.Getenv(insideEnv) != "" {
		return true, 0, enter()
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), insideEnv+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	err = again.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return false, max(ended.ExitCode(), 1), nil
	case err != nil:
		return false, 1, err
	}
	return false, 0, nil
}

// enter prepares the new namespaces for a node.
func enter() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts cannot be made private: %w", err)
	}
	for _, m := range []struct{ what, at, kind string }{{"proc", "/proc", "proc"}, {"tmpfs", "/run", "tmpfs"}} {
		if err := syscall.Mount(m.what, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("%s cannot be mounted: %w", m.at, err)
		}
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "node", "type", "bridge"},
		{"address", "add", NodeAddress + "/24", "dev", "node"},
		// No kube-proxy forwards this address to the API server, so the node itself has the
		// address.
		{"address", "add", ServiceAddress + "/32", "dev", "node"},
		{"link", "set", "node", "up"},
		{"route", "add", "default", "dev", "node"},
		{"netns", "add", outside},
		{"link", "add", outside, "type", "veth", "peer", "name", "node", "netns", outside},
		{"link", "set", outside, "master", "node", "up"},
		{"-n", outside, "link", "set", "lo", "up"},
		{"-n", outside, "address", "add", outsideAddress + "/24", "dev", "node"},
		{"-n", outside, "link", "set", "node", "up"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return nil
}
