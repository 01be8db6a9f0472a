package helper

import "syscall"

// newGroup returns process attributes that start the process in its own group.
func newGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
