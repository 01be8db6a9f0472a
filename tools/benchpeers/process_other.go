//go:build !linux

package main

import "syscall"

// attributes puts a process into its own group, so that a Ctrl-C reaches it only through
// this program.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
