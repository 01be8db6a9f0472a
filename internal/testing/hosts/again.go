//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// insideEnv is an environment variable. It is set in a process that RestartCommand started in its
// own network namespace.
const insideEnv = "QUORUMBENCH_TEST_NETWORK"

// IsRestarted reports whether RestartCommand started this process.
func IsRestarted() bool { return os.Getenv(insideEnv) != "" }

// RestartCommand returns a command that starts this program again in its own network namespace. In
// that namespace, the program has all permissions, because it runs as root or in a user namespace.
// The kernel kills the program when this process ends.
func RestartCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), insideEnv+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return c
}

// ExplainRefusal explains an error that occurred when RestartCommand's command was started. If the
// cause is that this machine does not allow the namespaces, it returns an error that says so.
// Otherwise it returns nil.
func ExplainRefusal(err error) error {
	for _, number := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, number) {
			return fmt.Errorf("a network namespace cannot be made here, which root can, and others where user namespaces are allowed: %w", number)
		}
	}
	return nil
}
