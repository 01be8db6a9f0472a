//go:build !linux

package main

import "syscall"

// attributes puts a process into its own process group, so that Ctrl-C does not reach it directly
// but only through this program.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
