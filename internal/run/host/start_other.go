//go:build !linux

package host

import "syscall"

// attributes returns attributes that give the process its own group. This system has no
// parent-death signal: an attached process ends with its lifeline.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// waitForExit returns false: the caller must wait.
func waitForExit(int) bool { return false }
