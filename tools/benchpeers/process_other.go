//go:build !linux

package main

import "syscall"

// attributes give a process a group of its own, so that a Ctrl-C reaches it
// through us alone.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
