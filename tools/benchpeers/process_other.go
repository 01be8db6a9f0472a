//go:build !linux

package main

import "syscall"

// attributes returns attributes that put a process into its own process group. So Ctrl-C does not
// reach the process directly, and this program ends the process instead.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
