package main

import "syscall"

// attributes give a process a group of its own, so that a Ctrl-C reaches it
// through us alone, and let the system end it if we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
