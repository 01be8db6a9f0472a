package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes give the process a group of its own, and, unless it is detached,
// the kernel's promise to kill it when the thread that started it ends.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitForExit blocks until the process has ended and leaves it to be reaped.
// It reports whether it did.
func waitForExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
