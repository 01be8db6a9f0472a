//go:build !linux

package host

import "syscall"

// attributes returns process attributes that put the new process into its own process group.
// Because this system has no parent-death signal, a process that is not detached must itself exit
// when its lifeline is closed.
func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// waitForExit returns false, because this system does not support such a wait. The caller must use
// Wait.
func waitForExit(int) bool { return false }
