package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// insideEnv says that this process is the first of namespaces of its own.
const insideEnv = "QUORUMBENCH_TEST_KUBERNETES_INSIDE"

// nodeAddress is the node's, in a network of its own; the pods have others. Both
// are of the range that RFC 2544 sets aside for benchmarks.
const nodeAddress = "198.18.1.1"

// ServiceAddress is where pods are told that the API is, the first of services; they
// alone can connect to it.
const ServiceAddress = "198.18.2.1"

// outside is the name of the network of a machine beside the node, and its only
// interface's: from there the API can be reached, and neither pods nor services.
const (
	outside        = "outside"
	outsideAddress = "198.18.1.2"
)

// Outside is a command on a machine beside the node.
func Outside(program string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", outside, program}, args...)...) // which becomes the program
}

// Isolated runs this test binary once more as the first process of namespaces of
// its own: of processes, mounts and the network. Whatever a node starts, mounts and
// connects ends with that process, however it ends. inside says that this already
// is it; else code is how it ended.
func Isolated() (inside bool, code int, err error) {
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

// enter makes the new namespaces usable.
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
		{"address", "add", nodeAddress + "/24", "dev", "node"},
		{"address", "add", ServiceAddress + "/32", "dev", "node"}, // for want of a proxy for services
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
