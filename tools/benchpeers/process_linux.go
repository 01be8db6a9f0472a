package main

import "syscall"

// attributes puts a process into its own group, so that a Ctrl-C reaches it only through
// this program, and lets the kernel kill it when this program is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
