package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes returns attributes that give the process its own group. Unless it is detached,
// the kernel kills it when the thread that started it ends.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitForExit blocks until the process has ended, without reaping it. It reports whether it
// could wait.
func waitForExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
