package main

import "syscall"

// attributes puts a process into its own process group, so that Ctrl-C does not reach it directly
// but only through this program. The kernel kills the process when this program is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
