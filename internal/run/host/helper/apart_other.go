//go:build !linux

package helper

import "syscall"

func newGroup() *syscall.SysProcAttr { return nil }
