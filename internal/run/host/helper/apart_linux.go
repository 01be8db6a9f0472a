package helper

import "syscall"

// apart returns attributes that give the process its own group.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
