//go:build !linux

package host

import "syscall"

// attributes give the process a group of its own. There is no parent-death
// signal here: an attached process ends with its lifeline.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// waitForExit leaves the waiting to the caller.
func waitForExit(int) bool { return false }
