//go:build !linux

package install

import "os/exec"

// together lets a cancel kill the tool alone: its children end by themselves.
func together(*exec.Cmd) {}
