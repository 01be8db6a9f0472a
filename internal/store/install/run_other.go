//go:build !linux

package install

import "os/exec"

// killWithChildren does nothing on this system: cancellation kills only the tool, and the tool's
// child processes continue until they end by themselves.
func killWithChildren(*exec.Cmd) {}
