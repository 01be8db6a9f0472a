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

// insideEnv says that a process has a network of its own.
const insideEnv = "QUORUMBENCH_TEST_NETWORK"

// Inside reports whether this process is one that Again started.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// Again is this program, to be started once more, with a network namespace of its
// own in which it may do everything: root's, or one of a user namespace. The kernel
// kills it when we end.
func Again(ctx context.Context, args ...string) *exec.Cmd {
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

// Refused turns the error with which a start of Again's ended into a sentence, if it
// is because this machine does not allow it, and is nil otherwise.
func Refused(err error) error {
	for _, number := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, number) {
			return fmt.Errorf("a network namespace cannot be made here, which root can, and others where user namespaces are allowed: %w", number)
		}
	}
	return nil
}
