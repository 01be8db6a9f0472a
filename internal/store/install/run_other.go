//go:build !linux

package install

import "os/exec"

// together does nothing: cancelling kills only the tool; its children end by
// themselves.
func together(*exec.Cmd) {}
