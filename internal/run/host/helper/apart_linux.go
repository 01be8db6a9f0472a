package helper

import "syscall"

// newGroup returns attributes that give the process its own group.
func newGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
