//go:build !linux

package helper

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
