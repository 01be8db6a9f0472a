package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes returns process attributes that put the new process into its own process group. If
// detach is not set, the kernel kills the process when the thread that started it exits.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitForExit waits until the process has exited, but does not reap it. It returns false if the
// wait failed.
func waitForExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
