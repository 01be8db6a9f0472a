//go:build !linux

package host

import "syscall"

// attributes returns process attributes that start the process in its own group. This system has no
// parent-death signal: a process that is not detached must exit when its lifeline is closed.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// waitForExit returns false: the caller must call Wait instead.
func waitForExit(int) bool { return false }
